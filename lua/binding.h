/* SPDX-License-Identifier: MIT
 *
 * What every file of the binding uses. A function of the binding checks its userdata, checks its
 * arguments, calls the C API and returns; failures are raised as error objects (lua/error.c), never
 * as strings. Objects are boxed: a box is born closed (object NULL), filled, and closed once by
 * close(), <close> or __gc in any order.
 *
 * Lua code can close an object while a function of the binding is using it. It gets to run in three
 * ways, and each has its rule:
 *   - a metamethod of an argument: tables are read raw, never through lua_getfield or lua_geti;
 *   - a finalizer, which may run whenever something is pushed that needs memory: checking arguments
 *     pushes nothing of that kind, so an object that has been checked is there until the first such
 *     push; who needs it for longer pins it (symmL_pin);
 *   - a task, in a wait: a blocking call holds references of its own (symmL_blocking_on), and its
 *     strings are on the stack, where no task can take them from.
 * A reference for a blocking call, and not a count of users in the box that close() would heed:
 * close() then releases at once in every case, the box stays one word, and no error that is raised
 * in between can leave the count wrong. It costs two atomic additions.
 *
 * Upvalues of every function that is registered here, both light userdata: 1 is the runtime, which
 * a blocking call hands to the wait hook (see symmL_blocking); 2 is the name under which a script
 * calls the function, which is the `op` of every error that it raises.
 */
#ifndef SYMM_LUA_BINDING_H
#define SYMM_LUA_BINDING_H

#include <lauxlib.h>
#include <lua.h>
#include <symm/runtime.h>
#include <symm/symm.h>

#if defined(__GNUC__)
#define SYMML_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define SYMML_PRINTF(text, first)
#endif

/* ---- errors (error.c) ----
 * An error's `op` is the name of the registered function that runs, whatever the C API or a helper
 * calls it; `op` arguments count where none runs: while a field is read, and outside the module. */

/* Raises symm_last_error() as an error object. */
_Noreturn void symmL_raise(lua_State *L);
/* Raises if rc is negative; gives rc back. */
static inline int symmL_check(lua_State *L, int rc) {
    if (rc < 0) symmL_raise(L);
    return rc;
}
/* Raises an error object made here. */
_Noreturn void symmL_fail(lua_State *L, int code, const char *op, const char *format, ...)
    SYMML_PRINTF(4, 5);
/* Pushes symm_last_error() as an error object. */
void symmL_push_error(lua_State *L, const struct symm_error *error);
/* Fills *out from an error object at `index`; 0 if the value is none. */
int symmL_to_error(lua_State *L, int index, struct symm_error *out);
void symmL_open_error(lua_State *L);

/* ---- objects (binding.c) ---- */

struct symmL_class {
    const char *name;              /* metatable name and what messages say: "symm.tensor" */
    const char *noun;              /* what messages call it: "process group" */
    const char *elements;          /* what to use instead of object[i], or NULL */
    void *(*retain)(void *object); /* gives the object back */
    void (*release)(void *object); /* gives the box's reference back */
    /* Pushes the property `key` of the object at 1 and gives 1, or gives 0 if there is none. */
    int (*property)(lua_State *L, void *object, const char *key);
    const luaL_Reg *methods;     /* `close` and `is_closed` are added */
    const luaL_Reg *metamethods; /* __gc, __close, __index, __name are added */
};

/* Makes the class's metatable; once a state. */
void symmL_open_class(lua_State *L, const struct symmL_class *class);
/* Pushes a box, closed; fill *box at once after the object exists. */
void **symmL_new_box(lua_State *L, const struct symmL_class *class);
/* Pushes a box with the object, taking over the caller's reference (released if memory fails). */
void symmL_push_object(lua_State *L, const struct symmL_class *class, void *object);
/* The same, but one object has one userdata as long as that lives: equal objects are rawequal. */
void symmL_push_unique(lua_State *L, const struct symmL_class *class, void *object);
/* The object at `index`; raises INVALID for another type and CLOSED for a closed one. */
void *symmL_check_object(lua_State *L, int index, const struct symmL_class *class, const char *op);
/* The object at `index`, or NULL if it is of another type; raises CLOSED for a closed one. */
void *symmL_test_object(lua_State *L, int index, const struct symmL_class *class, const char *op);
/* The box at `index`, whose object is NULL if it is closed; raises INVALID for another type. */
void **symmL_check_box(lua_State *L, int index, const struct symmL_class *class, const char *op);
/* The object at `index`, and pushes a box that holds it by a reference of its own: it lasts even if
 * it is closed meanwhile. symmL_unpin ends that; after an error the collector does. */
void *symmL_pin(lua_State *L, int index, const struct symmL_class *class, const char *op);
/* Gives back what the pin at `index` holds; it stays on the stack. */
void symmL_unpin(lua_State *L, int index, const struct symmL_class *class);
/* Adds functions to the table on top, with their upvalues; names must be static. Functions of
 * metamethods are named by their operator. */
void symmL_set_functions(lua_State *L, const luaL_Reg *functions);
/* The runtime of this state, NULL before there is one (runtime.c). */
symm_runtime *symmL_runtime_of(lua_State *L);

/* ---- arguments (args.c); all raise INVALID with `op` and the argument's name ---- */

int64_t symmL_arg_int(lua_State *L, int index, const char *op, const char *name);
int64_t symmL_arg_opt_int(lua_State *L, int index, const char *op, const char *name,
                          int64_t otherwise);
double symmL_arg_number(lua_State *L, int index, const char *op, const char *name);
const char *symmL_arg_string(lua_State *L, int index, const char *op, const char *name,
                             size_t *size_out);
int symmL_arg_bool(lua_State *L, int index, const char *op, const char *name);
/* An integer that must fit an int (ranks, channels, dimensions). */
int symmL_arg_int32(lua_State *L, int index, const char *op, const char *name);
/* A list of at most SYMM_MAX_DIMS integers; gives their count. */
int symmL_arg_shape(lua_State *L, int index, const char *op, const char *name,
                    int64_t shape_out[SYMM_MAX_DIMS]);
symm_dtype symmL_arg_dtype(lua_State *L, int index, const char *op, const char *name);
/* A duration: a number of milliseconds, or a text as symm_parse_duration reads it. */
int64_t symmL_arg_timeout(lua_State *L, int index, const char *op, const char *name);
/* Raises unless at most `count` arguments were given. */
void symmL_arg_count(lua_State *L, int count, const char *op);

/* Named arguments: `index` must be a table (or none or nil, which stand for {}) whose every key is
 * in the NULL-ended list `known`; an unknown one raises INVALID with the list. */
void symmL_named(lua_State *L, int index, const char *op, const char *const known[]);
/* Pushes t[name], read raw; true if it is not nil, else (or if there is no table) pushes nothing.
 * Use as
 *     if (symmL_field(L, 2, "channel")) { channel = symmL_arg_int32(L, -1, op, "channel");
 * lua_pop(L, 1); } or the shorthands below. */
int symmL_field(lua_State *L, int index, const char *name);
int symmL_field_int32(lua_State *L, int index, const char *op, const char *name, int otherwise);
int64_t symmL_field_int(lua_State *L, int index, const char *op, const char *name,
                        int64_t otherwise);
int64_t symmL_field_timeout(lua_State *L, int index, const char *op, const char *name,
                            int64_t otherwise);
int symmL_field_bool(lua_State *L, int index, const char *op, const char *name, int otherwise);
/* NULL when absent; else the string stays on the stack, which keeps it even if the table is changed
 * in a wait. */
const char *symmL_field_string(lua_State *L, int index, const char *op, const char *name);

/* ---- blocking ---- */

/* Around every C call that may wait: signals and posted tasks reach this runtime while it does.
 *     symmL_check(L, symmL_blocking(L, symm_memory_barrier(memory, channel, timeout_ms))); */
struct symmL_wait {
    symm_wait_hook hook;
    void *context;
    symm_runtime *runtime;
    lua_State *state;
};
void symmL_wait_begin(lua_State *L, struct symmL_wait *saved);
void symmL_wait_end(const struct symmL_wait *saved);
#define symmL_blocking(L, call)       \
    __extension__({                   \
        struct symmL_wait saved_;     \
        symmL_wait_begin(L, &saved_); \
        int rc_ = (call);             \
        symmL_wait_end(&saved_);      \
        rc_;                          \
    })
/* The same on an object, with a reference to it held; `noun` is symm_store, symm_memory, ... */
#define symmL_blocking_on(L, noun, object, call) \
    __extension__({                              \
        noun##_retain(object);                   \
        int result_ = symmL_blocking(L, call);   \
        noun##_release(object);                  \
        result_;                                 \
    })

/* ---- classes and openers, one file a noun; each opener adds to the module table on top ---- */

extern const struct symmL_class symmL_tensor_class;
extern const struct symmL_class symmL_store_class;
extern const struct symmL_class symmL_memory_class;
extern const struct symmL_class symmL_group_class;
void symmL_open_clock(lua_State *L);
void symmL_open_tensor(lua_State *L);
void symmL_open_store(lua_State *L);
void symmL_open_symmem(lua_State *L);
void symmL_open_group(lua_State *L);

/* Pushes the module table; registers nothing globally. Entry of `require "symm"`. */
int symmL_open_module(lua_State *L, symm_runtime *runtime);

#endif
