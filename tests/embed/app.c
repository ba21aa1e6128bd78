/* SPDX-License-Identifier: MIT
 *
 * An application that embeds symmrun's interpreter; docs/embedding.md walks through it. Built
 * against the installed tree:
 *     cc app.c $(pkg-config --cflags --libs symmlua libuv) -pthread
 * It prints a line for each thing it has done, and ends with 1 at the first that went wrong.
 */
#include <dlpack/dlpack.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/runtime.h>
#include <symm/symm.h>
#include <time.h>
#include <uv.h>

static void expect(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "app: not so: %s (last error: %s)\n", what, symm_last_error()->message);
        exit(1);
    }
    printf("%s\n", what);
}

/* ---- running scripts ---- */

static void run_scripts(const char *script_path) {
    symm_runtime *runtime = NULL;
    if (symm_runtime_open(NULL, &runtime) < 0) {
        fprintf(stderr, "%s\n", symm_last_error()->message);
        exit(1);
    }
    char *const arguments[] = {"first", "second"};
    if (symm_runtime_run_file(runtime, script_path, 2, arguments) < 0) {
        fprintf(stderr, "%s\n", symm_runtime_error_text(runtime)); /* message and traceback */
        exit(1);
    }
    lua_State *L = symm_runtime_state(runtime);
    lua_pushinteger(L, 20);
    lua_pushinteger(L, 22);
    int rc = symm_runtime_call(runtime, "script.add", 2, 1);
    expect(rc == 0 && lua_tointeger(L, -1) == 42, "a function of the script was called");
    lua_pop(L, 1);
    symm_runtime_close(runtime);
}

static void survive_errors(void) {
    symm_runtime *runtime = NULL;
    expect(symm_runtime_open(NULL, &runtime) == 0, "a runtime was opened");
    int rc = symm_runtime_run_string(runtime, "local x = = 1", "config");
    expect(rc == SYMM_EINVALID, "a syntax error is a code");
    rc = symm_runtime_run_string(runtime, "error 'on purpose'", "config");
    expect(rc == SYMM_ESCRIPT && strstr(symm_runtime_error_text(runtime), "stack traceback"),
           "an error has a traceback");
    rc = symm_runtime_run_string(runtime,
                                 "local store = require('symm').HashStore()\n"
                                 "store:get('never', {timeout_ms = 10})",
                                 "config");
    expect(rc == SYMM_ETIMEOUT && strcmp(symm_last_error()->op, "get") == 0,
           "an error object keeps its code and operation");
    rc = symm_runtime_run_string(runtime, "os.exit(3)", "config");
    expect(rc == SYMM_ESCRIPT, "os.exit ends the script and not the application");
    rc = symm_runtime_run_file(runtime, "/nowhere/x.lua", 0, NULL);
    expect(rc == SYMM_ENOT_FOUND, "an absent file is a code");
    expect(symm_runtime_run_string(runtime, "return 1", "config") == 0, "the runtime works on");
    symm_runtime_close(runtime);
}

static void use_several(void) {
    symm_runtime *one = NULL, *two = NULL;
    expect(symm_runtime_open(NULL, &one) == 0 && symm_runtime_open(NULL, &two) == 0,
           "two runtimes were opened");
    symm_runtime_run_string(one, "name = 'one'", "setup");
    expect(symm_runtime_run_string(two, "assert(name == nil)", "check") == 0,
           "they share no variables");
    symm_runtime_close(one);
    expect(symm_runtime_run_string(two, "assert(require('symm').version)", "check") == 0,
           "one works on without the other");
    symm_runtime_close(two);
}

/* ---- tensors ---- */

struct frame {
    float pixels[4];
    int64_t shape[1];
    int is_free;
    DLManagedTensor managed;
};

static void free_frame(DLManagedTensor *managed) {
    struct frame *frame = managed->manager_ctx;
    frame->is_free = 1;
}

static void describe_frame(struct frame *frame) {
    frame->shape[0] = 4;
    frame->managed.dl_tensor.data = frame->pixels;
    frame->managed.dl_tensor.device.device_type = kDLCPU;
    frame->managed.dl_tensor.ndim = 1;
    frame->managed.dl_tensor.dtype = (DLDataType){kDLFloat, 32, 1};
    frame->managed.dl_tensor.shape = frame->shape;
    frame->managed.manager_ctx = frame;
    frame->managed.deleter = free_frame;
}

static void share_tensors(void) {
    struct frame frame = {.pixels = {1, 2, 3, 4}};
    DLManagedTensor *result = NULL;
    symm_runtime *runtime = NULL;
    describe_frame(&frame);
    symm_runtime_open(NULL, &runtime);
    lua_State *L = symm_runtime_state(runtime);
    symm_runtime_run_string(runtime, "function brighten(t) t:mul_(10) return t + 1 end", "setup");
    expect(symm_runtime_push_dlpack(runtime, &frame.managed) == 0, "a tensor went in by DLPack");
    expect(symm_runtime_call(runtime, "brighten", 1, 1) == 0, "the script has worked on it");
    expect(frame.pixels[3] == 40, "in the application's own memory");
    expect(symm_runtime_to_dlpack(runtime, -1, &result) == 0, "a tensor came out by DLPack");
    lua_pop(L, 1);
    symm_runtime_close(runtime);
    expect(frame.is_free == 1, "the application's memory is its own again");
    expect(((float *)result->dl_tensor.data)[3] == 41, "the result outlives its runtime");
    result->deleter(result);
}

/* ---- other threads ---- */

static void add_to_total(symm_runtime *runtime, void *context) {
    lua_State *L = symm_runtime_state(runtime); /* on the runtime's thread: the state may be used */
    lua_getglobal(L, "total");
    lua_pushinteger(L, lua_tointeger(L, -1) + *(int *)context);
    lua_setglobal(L, "total");
}

static void pause_ms(long ms) {
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void *post_from_elsewhere(void *argument) {
    static int amounts[] = {1, 2, 3};
    symm_runtime *runtime = argument;
    pause_ms(50);
    for (int i = 0; i < 3; i++) symm_runtime_post(runtime, add_to_total, &amounts[i]);
    pause_ms(50);
    symm_runtime_interrupt(runtime);
    return NULL;
}

static void work_with_threads(void) {
    symm_runtime *runtime = NULL;
    pthread_t thread;
    symm_runtime_open(NULL, &runtime);
    symm_runtime_run_string(runtime, "total = 0", "setup");
    pthread_create(&thread, NULL, post_from_elsewhere, runtime);
    int rc = symm_runtime_run_string(runtime,
                                     "local store = require('symm').HashStore()\n"
                                     "store:get('never', {timeout_ms = 60000})",
                                     "wait");
    pthread_join(thread, NULL);
    expect(rc == SYMM_EINTERRUPTED, "another thread has ended a wait");
    expect(symm_runtime_run_string(runtime, "assert(total == 6)", "check") == 0,
           "tasks of another thread ran meanwhile");
    symm_runtime_close(runtime);
    expect(symm_runtime_post(runtime, add_to_total, NULL) == SYMM_ECLOSED,
           "a closed runtime takes no tasks");
}

/* ---- the application's own state and loop ---- */

static int application_name(lua_State *L) {
    lua_pushliteral(L, "app");
    return 1;
}

static void stop_loop(symm_runtime *runtime, void *context) {
    (void)context;
    symm_runtime_run_string(runtime, "stopped = true", "task");
    uv_stop(symm_runtime_loop(runtime));
}

static void on_tick(uv_timer_t *timer) { symm_runtime_post(timer->data, stop_loop, NULL); }

static void bring_state_and_loop(void) {
    struct symm_runtime_options options = SYMM_RUNTIME_OPTIONS_INIT;
    symm_runtime *runtime = NULL;
    uv_loop_t loop;
    uv_timer_t timer;
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    lua_register(L, "application_name", application_name);
    uv_loop_init(&loop);
    options.state = L;
    options.loop = &loop;
    expect(symm_runtime_open(&options, &runtime) == 0, "the application's state became a runtime");
    expect(symm_runtime_run_string(runtime, "assert(application_name() == 'app')", "check") == 0,
           "scripts find the application's functions");
    uv_timer_init(&loop, &timer);
    timer.data = runtime;
    uv_timer_start(&timer, on_tick, 1, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    expect(symm_runtime_run_string(runtime, "assert(stopped)", "check") == 0,
           "the application's loop has run a task");
    uv_close((uv_handle_t *)&timer, NULL);
    symm_runtime_close(runtime);
    uv_run(&loop, UV_RUN_DEFAULT); /* lets the handles go */
    expect(uv_loop_close(&loop) == 0, "the loop was left as it was");
    expect(luaL_dostring(L, "assert(application_name() == 'app')") == 0, "and so was the state");
    lua_close(L);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (argc != 2) {
        fprintf(stderr, "usage: app SCRIPT\n");
        return 2;
    }
    run_scripts(argv[1]);
    survive_errors();
    use_several();
    share_tensors();
    work_with_threads();
    bring_state_and_loop();
    return 0;
}
