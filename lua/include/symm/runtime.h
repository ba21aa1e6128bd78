/* SPDX-License-Identifier: MIT
 *
 * Embedding: a Lua interpreter with everything of symmrun registered, inside an application.
 *
 * A runtime is one lua_State and one libuv loop, each its own or the application's, and is bound to
 * the thread that opened it; only symm_runtime_post and symm_runtime_interrupt may be called from
 * elsewhere. Several runtimes may live in one process. Nothing here ends the process: a Lua error
 * becomes a return code with its message and traceback, a memory error becomes SYMM_EOOM.
 */
#ifndef SYMM_RUNTIME_H
#define SYMM_RUNTIME_H

#include <stddef.h>

#include <symm/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lua_State;
struct uv_loop_s;
struct DLManagedTensor;
typedef struct symm_runtime symm_runtime;

struct symm_runtime_options {
    size_t size;             /* sizeof this struct */
    struct lua_State *state; /* NULL: a new one with Lua's standard libraries */
    struct uv_loop_s *loop;  /* NULL: one of its own, made when first needed */
};
#define SYMM_RUNTIME_OPTIONS_INIT \
    { sizeof(struct symm_runtime_options), NULL, NULL }

/* Opens a runtime and makes `require "symm"` work in its state. The application's own state and
 * loop stay the application's: close the runtime before them. One runtime a state (SYMM_EEXISTS).
 */
int symm_runtime_open(const struct symm_runtime_options *options, symm_runtime **out);
/* Closes; from the runtime's thread, not from inside a call of it. With a loop of the application,
 * the loop must still run once for the runtime's handle to go. NULL is ignored. */
void symm_runtime_close(symm_runtime *runtime);

/* The state to work with: the one that was given or made; in a task that runs in a coroutine's
 * wait, that coroutine. */
struct lua_State *symm_runtime_state(symm_runtime *runtime);
/* Makes the loop if there is none yet; NULL with symm_last_error() on failure. Running it serves
 * posted tasks: a loop of the runtime's own until uv_stop, a loop of the application's as long as
 * something of the application keeps it alive. */
struct uv_loop_s *symm_runtime_loop(symm_runtime *runtime);

/* Runs a file or a string with `arg` set as Lua's own interpreter sets it (arg[0] is the path or
 * chunk name). In a state of the runtime's own os.exit ends the run, not the process: with 0 or
 * true the run has succeeded, with anything else it has failed with SYMM_ESCRIPT. Errors:
 * SYMM_ENOT_FOUND for an absent file, SYMM_EIO for one that cannot be read, SYMM_EINVALID for a
 * syntax error, the code of an error object, SYMM_ESCRIPT for any other error;
 * symm_runtime_error_text has the whole message with its traceback. */
int symm_runtime_run_file(symm_runtime *runtime, const char *path, int argc, char *const argv[]);
int symm_runtime_run_string(symm_runtime *runtime, const char *chunk, const char *chunk_name);
/* Calls the global function `name` ("f", "module.f") with the top `argument_count` values of the
 * state's stack, which it pops, and leaves `result_count` results on it (none on failure). */
int symm_runtime_call(symm_runtime *runtime, const char *name, int argument_count,
                      int result_count);
/* The last failed run's message and traceback; "" if none; valid until the next run. */
const char *symm_runtime_error_text(const symm_runtime *runtime);

/* Pushes a tensor (retained) on the state's stack; gives the one at `index`, retained. */
int symm_runtime_push_tensor(symm_runtime *runtime, symm_tensor *tensor);
int symm_runtime_to_tensor(symm_runtime *runtime, int index, symm_tensor **out);
/* The same by DLPack: memory is shared, never copied. push takes ownership of `managed` only on
 * success; to_dlpack gives an object that the caller ends with its deleter. */
int symm_runtime_push_dlpack(symm_runtime *runtime, struct DLManagedTensor *managed);
int symm_runtime_to_dlpack(symm_runtime *runtime, int index, struct DLManagedTensor **out);

/* Any thread: queues a call for the runtime's thread, which makes it from its loop, or between two
 * slices of a blocking wait, at the latest in symm_runtime_close; every accepted task is run once,
 * in the order of posting. It may use the Lua state (symm_runtime_state) and need not clear its
 * stack; what it raises becomes a warning (lua_setwarnf). It must not block. SYMM_ECLOSED once
 * closing has begun. */
typedef void (*symm_runtime_task)(symm_runtime *runtime, void *context);
int symm_runtime_post(symm_runtime *runtime, symm_runtime_task task, void *context);
/* Any thread and signal handlers: ends the blocking call or Lua code that runs now with
 * SYMM_EINTERRUPTED. Nothing running: the next one ends at once. Lua code inside of a coroutine
 * goes on until the coroutine yields, ends or waits. From another thread it takes SIGURG to get
 * there: a handler for it is set, which calls the application's own; waits need no signal. */
void symm_runtime_interrupt(symm_runtime *runtime);
/* The same for good: from now on every blocking call and run ends so, also where a script catches
 * the error; what runs then has about 10 ms at a time to put things in order. */
void symm_runtime_terminate(symm_runtime *runtime);

#ifdef __cplusplus
}
#endif
#endif
