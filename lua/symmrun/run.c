/* SPDX-License-Identifier: MIT
 *
 * One rank: the interpreter, its script and its signals. SIGINT ends the wait or the Lua code that
 * runs, once; SIGTERM ends all that runs from then on. A second one while the first has not been
 * heard kills, as without a handler.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/activity.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lualib.h>

#include "lua/runtime_state.h"
#include "lua/symmrun/symmrun.h"

void symmrun_say(const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fflush(stdout);
    fprintf(stderr, "symmrun: %s\n", text);
}

int symmrun_flush(int code) {
    int lost = fflush(stdout) != 0 || ferror(stdout);
    if (!lost || code != 0) return code;
    symmrun_say("standard output could not be written");
    return EXIT_FAILED;
}

/* ---- signals ---- */

/* How long a rank may take to end cleanly. */
#define TERMINATION_S 10

/* The handlers run on the runtime's thread or look at these alone. */
static symm_runtime *volatile running;
static volatile sig_atomic_t seen_signal;

int symmrun_signal(void) { return seen_signal; }

void symmrun_forget_signal(void) { seen_signal = 0; }

static void die_by(int number) {
    signal(number, SIG_DFL);
    raise(number); /* delivered when the handler returns */
}

static void on_signal(int number) {
    symm_runtime *runtime = running;
    if (!runtime) {
        die_by(number);
        return;
    }
    int unheard = atomic_load_explicit(&runtime->requests, memory_order_relaxed);
    if (seen_signal && unheard && (number == SIGINT || seen_signal == SIGTERM)) {
        die_by(number);
        return;
    }
    seen_signal = number;
    if (number == SIGTERM) {
        alarm(TERMINATION_S);
        symm_runtime_terminate(runtime);
    } else {
        symm_runtime_interrupt(runtime);
    }
}

/* What runs has not come to an end by itself: a C function that never looks up, or a finalizer. */
static void on_alarm(int number) {
    (void)number;
    die_by(SIGTERM);
}

/* Without SA_RESTART: a read or a wait that is going on is to end. */
static void handle_signals(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
}

/* ---- an orderly end ---- */

/* A script that has succeeded leaves its groups as if it had destroyed them: where this rank has
 * the store, it stays until the others are done. Gives the exit code. */
static int leave_groups(symm_runtime *runtime) {
    symm_wait_hook hook = NULL;
    void *context = NULL;
    symm_set_wait_hook(symmL_runtime_poll, runtime, &hook, &context);
    int rc = symm_group_destroy_all(SYMM_TIMEOUT_DEFAULT);
    symm_set_wait_hook(hook, context, NULL, NULL);
    if (rc == 0) return 0;
    symmrun_say("%s", symm_last_error()->message);
    return rc == SYMM_EINTERRUPTED && symmrun_signal() ? 128 + symmrun_signal() : EXIT_FAILED;
}

/* os.exit as Lua has it (upvalue 1), after that. */
static int exit_orderly(lua_State *L) {
    symm_runtime *runtime = running;
    int succeeds = lua_isboolean(L, 1) ? lua_toboolean(L, 1) : luaL_optinteger(L, 1, 0) == 0;
    int code = runtime && succeeds ? symmrun_flush(leave_groups(runtime)) : 0;
    if (code != 0) {
        lua_settop(L, 2);
        lua_pushinteger(L, code);
        lua_replace(L, 1);
    }
    if (lua_toboolean(L, 2))
        running = NULL; /* the state is going to be closed, and the runtime with it */
    int count = lua_gettop(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, count, 0);
    return 0;
}

static void wrap_exit(lua_State *L) {
    lua_getglobal(L, "os");
    lua_getfield(L, -1, "exit");
    lua_pushcclosure(L, exit_orderly, 1);
    lua_setfield(L, -2, "exit");
    lua_pop(L, 1);
}

/* ---- the script ---- */

/* What a script finds before it runs. Argument: the options. */
static int prepare(lua_State *L) {
    const struct symmrun_options *options = lua_touserdata(L, 1);
    wrap_exit(L);
    int script = options->script < options->argc ? options->script : 0;
    lua_createtable(L, options->argc - script, script + 1);
    for (int i = 0; i < options->argc; i++) {
        lua_pushstring(L, options->argv[i]);
        lua_rawseti(L, -2, i - script);
    }
    lua_setglobal(L, "arg");
    return 0;
}

/* Loads a file (NULL: standard input) or code; LUA_OK or what failed, with its message on top. */
static int load_script(lua_State *L, const char *path, const char *code) {
    if (code) return luaL_loadbufferx(L, code, strlen(code), "=(command line)", "t");
    return luaL_loadfile(L, path);
}

static void push_arguments(lua_State *L, const struct symmrun_options *options) {
    for (int i = options->script + 1; i < options->argc; i++) {
        lua_pushstring(L, options->argv[i]);
    }
}

/* "Rank 1 has left" is as little a beginning of a failure as "rank 1 has died". */
static void tell_launcher(void) {
    const struct symm_error *error = symm_last_error();
    int peer_left = error->code == SYMM_ECLOSED && error->peer >= 0;
    symm_activity_fail(peer_left ? SYMM_EPEER_DIED : error->code);
}

/* Prints what failed; 130 for a script that a SIGINT ended, else 1. */
static int report(symm_runtime *runtime) {
    fflush(stdout);
    fprintf(stderr, "symmrun: %s\n", symm_runtime_error_text(runtime));
    tell_launcher();
    int interrupted = symm_last_error()->code == SYMM_EINTERRUPTED && symmrun_signal();
    return interrupted ? 128 + symmrun_signal() : EXIT_FAILED;
}

static int run_chunk(symm_runtime *runtime, lua_State *L, const struct symmrun_options *options,
                     const char *path, const char *code) {
    int base = lua_gettop(L);
    int status = load_script(L, path, code);
    if (status != LUA_OK) {
        symmL_runtime_failed(runtime, L, status);
        return report(runtime);
    }
    if (!code) push_arguments(L, options);
    if (symmL_runtime_call_top(runtime, L, lua_gettop(L) - base - 1, 0) < 0) {
        return report(runtime);
    }
    return 0;
}

static int has_script(const struct symmrun_options *options) {
    return options->script < options->argc;
}

static int run_all(symm_runtime *runtime, lua_State *L, const struct symmrun_options *options) {
    int code = 0, from_person = isatty(STDIN_FILENO);
    for (int i = 0; i < options->code_count && code == 0; i++) {
        code = run_chunk(runtime, L, options, NULL, symmrun_options_code(options, i));
    }
    if (code == 0 && has_script(options)) {
        const char *path = options->argv[options->script];
        code = run_chunk(runtime, L, options, strcmp(path, "-") == 0 ? NULL : path, NULL);
    }
    if (options->interactive) return symmrun_repl(runtime, L);
    if (code == 0 && !has_script(options) && !options->code_count) {
        return from_person ? symmrun_repl(runtime, L) : run_chunk(runtime, L, options, NULL, NULL);
    }
    return code;
}

/* Lines to a pipe go out whole and at once: somebody reads them while the script runs, and a rank
 * that is killed has said what it said. */
static void buffer_lines(void) {
    struct stat status;
    if (fstat(STDOUT_FILENO, &status) == 0 && !S_ISREG(status.st_mode)) {
        setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    }
}

static int open_runtime(symm_runtime **runtime_out, lua_State **state_out) {
    struct symm_runtime_options options = SYMM_RUNTIME_OPTIONS_INIT;
    lua_State *L = luaL_newstate();
    if (!L) {
        symmrun_say("no memory for an interpreter");
        return EXIT_FAILED;
    }
    luaL_openlibs(L);
    options.state = L;
    if (symm_runtime_open(&options, runtime_out) < 0) {
        symmrun_say("%s", symm_last_error()->message);
        lua_close(L);
        return EXIT_FAILED;
    }
    *state_out = L;
    return 0;
}

int symmrun_run(const struct symmrun_options *options) {
    symm_runtime *runtime = NULL;
    lua_State *L = NULL;
    buffer_lines();
    int code = open_runtime(&runtime, &L);
    if (code) return code;
    lua_pushcfunction(L, prepare);
    lua_pushlightuserdata(L, (void *)(uintptr_t)options);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
        symmrun_say("no memory for the arguments");
        code = EXIT_FAILED;
    } else {
        running = runtime;
        handle_signals();
        code = run_all(runtime, L, options);
        if (code == 0) code = leave_groups(runtime);
        if (symmrun_signal() == SIGTERM) code = 128 + SIGTERM;
    }
    running = NULL;
    symm_runtime_close(runtime);
    lua_close(L);
    return code;
}
