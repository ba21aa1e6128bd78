/* SPDX-License-Identifier: MIT
 *
 * Methods that show the same memory in another way. Dimensions and indices count from 0, and from
 * the end where they are negative; shapes may be written as a list or as the numbers themselves.
 */
#include "lua/tensor.h"

#include <limits.h>

/* slice(dim[, start[, stop[, step]]]) */
static int tensor_slice(lua_State *L) {
    const char *op = "slice";
    symm_tensor *view = NULL, *tensor = symmL_check_tensor(L, 1, op);
    symmL_arg_count(L, 5, op);
    int dim = symmL_arg_int32(L, 2, op, "dim");
    int64_t start = symmL_arg_opt_int(L, 3, op, "start", 0);
    int64_t stop = symmL_arg_opt_int(L, 4, op, "stop", SYMM_SLICE_END);
    int64_t step = symmL_arg_opt_int(L, 5, op, "step", 1);
    symmL_check(L, symm_tensor_slice(tensor, dim, start, stop, step, &view));
    symmL_push_view(L, view);
    return 1;
}

static int tensor_select(lua_State *L) {
    const char *op = "select";
    symm_tensor *view = NULL, *tensor = symmL_check_tensor(L, 1, op);
    symmL_arg_count(L, 3, op);
    int dim = symmL_arg_int32(L, 2, op, "dim");
    int64_t index = symmL_arg_int(L, 3, op, "index");
    symmL_check(L, symm_tensor_select(tensor, dim, index, &view));
    symmL_push_view(L, view);
    return 1;
}

static int tensor_narrow(lua_State *L) {
    const char *op = "narrow";
    symm_tensor *view = NULL, *tensor = symmL_check_tensor(L, 1, op);
    symmL_arg_count(L, 4, op);
    int dim = symmL_arg_int32(L, 2, op, "dim");
    int64_t start = symmL_arg_int(L, 3, op, "start"), length = symmL_arg_int(L, 4, op, "length");
    symmL_check(L, symm_tensor_narrow(tensor, dim, start, length, &view));
    symmL_push_view(L, view);
    return 1;
}

/* ---- shapes ---- */

static int with_shape(lua_State *L, const char *op,
                      int (*make)(symm_tensor *tensor, const int64_t *shape, int ndim,
                                  symm_tensor **out)) {
    int64_t shape[SYMM_MAX_DIMS];
    symm_tensor *view = NULL, *tensor = symmL_check_tensor(L, 1, op);
    int ndim = symmL_arg_dims(L, 2, op, "shape", shape);
    symmL_check(L, make(tensor, shape, ndim, &view));
    symmL_push_view(L, view);
    return 1;
}

static int tensor_view(lua_State *L) { return with_shape(L, "view", symm_tensor_view); }
static int tensor_reshape(lua_State *L) { return with_shape(L, "reshape", symm_tensor_reshape); }
static int tensor_expand(lua_State *L) { return with_shape(L, "expand", symm_tensor_expand); }

static int tensor_unsqueeze(lua_State *L) {
    const char *op = "unsqueeze";
    symm_tensor *view = NULL, *tensor = symmL_check_tensor(L, 1, op);
    symmL_arg_count(L, 2, op);
    symmL_check(L, symm_tensor_unsqueeze(tensor, symmL_arg_int32(L, 2, op, "dim"), &view));
    symmL_push_view(L, view);
    return 1;
}

static int tensor_squeeze(lua_State *L) {
    const char *op = "squeeze";
    symm_tensor *view = NULL, *tensor = symmL_check_tensor(L, 1, op);
    symmL_arg_count(L, 2, op);
    int dim = lua_isnoneornil(L, 2) ? SYMM_ALL_DIMS : symmL_arg_int32(L, 2, op, "dim");
    symmL_check(L, symm_tensor_squeeze(tensor, dim, &view));
    symmL_push_view(L, view);
    return 1;
}

/* flatten([first[, last]]) */
static int tensor_flatten(lua_State *L) {
    const char *op = "flatten";
    symm_tensor *view = NULL, *tensor = symmL_check_tensor(L, 1, op);
    symmL_arg_count(L, 3, op);
    int first = lua_isnoneornil(L, 2) ? 0 : symmL_arg_int32(L, 2, op, "start_dim");
    int last = lua_isnoneornil(L, 3) ? -1 : symmL_arg_int32(L, 3, op, "end_dim");
    symmL_check(L, symm_tensor_flatten(tensor, first, last, &view));
    symmL_push_view(L, view);
    return 1;
}

/* ---- orders ---- */

static int tensor_transpose(lua_State *L) {
    const char *op = "transpose";
    symm_tensor *view = NULL, *tensor = symmL_check_tensor(L, 1, op);
    symmL_arg_count(L, 3, op);
    int dim0 = symmL_arg_int32(L, 2, op, "dim0"), dim1 = symmL_arg_int32(L, 3, op, "dim1");
    symmL_check(L, symm_tensor_transpose(tensor, dim0, dim1, &view));
    symmL_push_view(L, view);
    return 1;
}

static void narrow_dims(lua_State *L, const char *op, const char *name, const int64_t *dims,
                        int count, int *out) {
    for (int i = 0; i < count; i++) {
        if (dims[i] < INT_MIN || dims[i] > INT_MAX) {
            symmL_fail(L, SYMM_EINVALID, op, "%s is out of range: %lld", name, (long long)dims[i]);
        }
        out[i] = (int)dims[i];
    }
}

static int tensor_permute(lua_State *L) {
    const char *op = "permute";
    int64_t given[SYMM_MAX_DIMS];
    int dims[SYMM_MAX_DIMS];
    symm_tensor *view = NULL, *tensor = symmL_check_tensor(L, 1, op);
    int count = symmL_arg_dims(L, 2, op, "dims", given);
    narrow_dims(L, op, "dims", given, count, dims);
    symmL_check(L, symm_tensor_permute(tensor, dims, count, &view));
    symmL_push_view(L, view);
    return 1;
}

/* An integer or a list of them. */
static int one_or_more(lua_State *L, int index, const char *op, const char *name, int *out) {
    int64_t dims[SYMM_MAX_DIMS];
    int count = 1;
    if (lua_istable(L, index)) {
        count = symmL_arg_shape(L, index, op, name, dims);
    } else {
        dims[0] = symmL_arg_int(L, index, op, name);
    }
    narrow_dims(L, op, name, dims, count, out);
    return count;
}

/* movedim(source, destination): integers, or lists of the same length. */
static int tensor_movedim(lua_State *L) {
    const char *op = "movedim";
    int sources[SYMM_MAX_DIMS], destinations[SYMM_MAX_DIMS];
    symm_tensor *view = NULL, *tensor = symmL_check_tensor(L, 1, op);
    symmL_arg_count(L, 3, op);
    int count = one_or_more(L, 2, op, "source", sources);
    int places = one_or_more(L, 3, op, "destination", destinations);
    if (count != places) {
        symmL_fail(L, SYMM_EINVALID, op, "source has %d dimensions and destination %d", count,
                   places);
    }
    symmL_check(L, symm_tensor_movedim(tensor, sources, destinations, count, &view));
    symmL_push_view(L, view);
    return 1;
}

/* ---- chunks ---- */

#define MOST_CHUNKS (1 << 20) /* views in one list */

/* Pushes a list of `count` closed boxes: filling them later needs no memory. */
static void push_boxes(lua_State *L, int count) {
    lua_createtable(L, count, 0);
    for (int i = 1; i <= count; i++) {
        symmL_new_box(L, &symmL_tensor_class);
        lua_rawseti(L, -2, i);
    }
}

/* How many boxes a call may need: 0 if symm_tensor_chunk will refuse it, else at least 1. */
static int boxes_for(lua_State *L, const symm_tensor *tensor, int chunks, int dim) {
    int ndim = symm_tensor_ndim(tensor);
    if (chunks < 1 || dim < -ndim || dim >= ndim) return 0;
    int64_t size = symm_tensor_shape(tensor)[dim < 0 ? dim + ndim : dim];
    int64_t count = size < 1 ? 1 : size < chunks ? size : chunks;
    if (count > MOST_CHUNKS) {
        symmL_fail(L, SYMM_ELIMIT, "chunk", "%lld chunks are more than the %d that a list may have",
                   (long long)count, MOST_CHUNKS);
    }
    return (int)count;
}

/* chunk(chunks[, dim]): a list of views */
static int tensor_chunk(lua_State *L) {
    const char *op = "chunk";
    symm_tensor *tensor = symmL_check_tensor(L, 1, op);
    symmL_arg_count(L, 3, op);
    int chunks = symmL_arg_int32(L, 2, op, "chunks"), count = 0;
    int dim = lua_isnoneornil(L, 3) ? 0 : symmL_arg_int32(L, 3, op, "dim");
    int boxes = boxes_for(L, tensor, chunks, dim);
    push_boxes(L, boxes);
    symm_tensor **views = lua_newuserdatauv(L, (size_t)(boxes + 1) * sizeof *views, 0);
    tensor = symmL_check_tensor(L, 1, op); /* a finalizer may have closed it */
    symmL_check(L, symm_tensor_chunk(tensor, boxes ? boxes : chunks, dim, views, &count));
    for (int i = 0; i < boxes; i++) {
        lua_rawgeti(L, -2, i + 1);
        void **box = lua_touserdata(L, -1);
        lua_pop(L, 1);
        if (i < count) {
            *box = views[i];
        } else {
            lua_pushnil(L);
            lua_rawseti(L, -3, i + 1);
        }
    }
    lua_pop(L, 1);
    return 1;
}

const luaL_Reg symmL_tensor_view_methods[] = {
    {"slice", tensor_slice},         {"select", tensor_select},
    {"narrow", tensor_narrow},       {"view", tensor_view},
    {"reshape", tensor_reshape},     {"expand", tensor_expand},
    {"unsqueeze", tensor_unsqueeze}, {"squeeze", tensor_squeeze},
    {"flatten", tensor_flatten},     {"transpose", tensor_transpose},
    {"permute", tensor_permute},     {"movedim", tensor_movedim},
    {"chunk", tensor_chunk},         {NULL, NULL}};
