/* SPDX-License-Identifier: MIT
 *
 * Process groups in Lua.
 */
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"

static void *retain_group(void *object) { return symm_group_retain(object); }
static void release_group(void *object) { symm_group_release(object); }

/* ---- group ---- */

static int64_t timeout_of(lua_State *L, int index, const char *op) {
    static const char *const keys[] = {"timeout_ms", NULL};
    symmL_arg_count(L, 2, op);
    symmL_named(L, index, op, keys);
    return symmL_field_timeout(L, index, op, "timeout_ms", 0);
}

static int group_barrier(lua_State *L) {
    symm_group *group = symmL_check_object(L, 1, &symmL_group_class, "barrier");
    int64_t timeout_ms = timeout_of(L, 2, "barrier");
    symmL_check(L, symmL_blocking_on(L, symm_group, group, symm_group_barrier(group, timeout_ms)));
    return 0;
}

static int group_destroy(lua_State *L) {
    symm_group *group = symmL_check_object(L, 1, &symmL_group_class, "destroy");
    int64_t timeout_ms = timeout_of(L, 2, "destroy");
    symmL_check(L, symmL_blocking_on(L, symm_group, group, symm_group_destroy(group, timeout_ms)));
    return 0;
}

static int push_property(lua_State *L, void *object, const char *key) {
    symm_group *group = object;
    if (strcmp(key, "rank") == 0) {
        lua_pushinteger(L, symm_group_rank(group));
    } else if (strcmp(key, "world_size") == 0) {
        lua_pushinteger(L, symm_group_world_size(group));
    } else if (strcmp(key, "group_name") == 0) {
        lua_pushstring(L, symm_group_name(group));
    } else if (strcmp(key, "timeout_ms") == 0) {
        lua_pushinteger(L, symm_group_timeout(group));
    } else if (strcmp(key, "store") == 0) {
        symm_store *store = NULL;
        symmL_check(L, symm_group_store(group, &store));
        symmL_push_object(L, &symmL_store_class, store);
    } else {
        return 0;
    }
    return 1;
}

static int group_tostring(lua_State *L) {
    char text[SYMM_ERROR_GROUP_SIZE + 96];
    void **box = symmL_check_box(L, 1, &symmL_group_class, "tostring");
    if (!*box) {
        lua_pushliteral(L, "process group (closed)");
        return 1;
    }
    snprintf(text, sizeof text, "process group %s (rank %d of %d)", symm_group_name(*box),
             symm_group_rank(*box), symm_group_world_size(*box));
    lua_pushstring(L, text);
    return 1;
}

static const luaL_Reg group_methods[] = {
    {"barrier", group_barrier}, {"destroy", group_destroy}, {NULL, NULL}};
static const luaL_Reg group_metamethods[] = {{"__tostring", group_tostring}, {NULL, NULL}};

const struct symmL_class symmL_group_class = {.name = "symm.group",
                                              .noun = "process group",
                                              .retain = retain_group,
                                              .release = release_group,
                                              .property = push_property,
                                              .methods = group_methods,
                                              .metamethods = group_metamethods};

/* ---- module ---- */

/* A store, rank and world_size from an init_method URL; released by the caller. */
static symm_store *store_of_url(lua_State *L, const char *url, struct symm_group_options *options) {
    struct symm_rendezvous place;
    symmL_check(L, symmL_blocking(L, symm_rendezvous_url(url, options->rank, options->world_size,
                                                         options->timeout_ms, &place)));
    options->rank = place.rank;
    options->world_size = place.world_size;
    return place.store;
}

/* init_process_group{group_name=, store=, init_method=, rank=, world_size=, timeout=} */
static int init_process_group(lua_State *L) {
    const char *op = "init_process_group";
    static const char *const keys[] = {"group_name", "store",   "init_method", "rank",
                                       "world_size", "timeout", "device",      NULL};
    struct symm_group_options options = SYMM_GROUP_OPTIONS_INIT;
    symm_group *group = NULL;
    symmL_arg_count(L, 1, op);
    symmL_named(L, 1, op, keys);
    options.group_name = symmL_field_string(L, 1, op, "group_name");
    options.rank = symmL_field_int32(L, 1, op, "rank", -1);
    options.world_size = symmL_field_int32(L, 1, op, "world_size", -1);
    options.timeout_ms = symmL_field_timeout(L, 1, op, "timeout", 0);
    const char *url = symmL_field_string(L, 1, op, "init_method");
    const char *device = symmL_field_string(L, 1, op, "device");
    if (device && strcmp(device, "cpu") != 0) {
        symmL_fail(L, SYMM_EMISSING_PLUGIN, op, "device '%s' needs a plugin that is not loaded",
                   device);
    }
    if (symmL_field(L, 1, "store")) {
        if (url) symmL_fail(L, SYMM_EINVALID, op, "store and init_method exclude each other");
        options.store =
            symm_store_retain(symmL_check_object(L, lua_gettop(L), &symmL_store_class, op));
    } else if (url && strcmp(url, "env://") != 0) {
        options.store = store_of_url(L, url, &options);
    }
    int rc = symmL_blocking(L, symm_group_init(&options, &group));
    if (options.store) symm_store_release(options.store);
    symmL_check(L, rc);
    symmL_push_unique(L, &symmL_group_class, group);
    return 1;
}

/* destroy_process_group([group[, {timeout_ms=}]]): the default group if none is given */
static int destroy_process_group(lua_State *L) {
    const char *op = "destroy_process_group";
    symm_group *group = NULL;
    symmL_arg_count(L, 2, op);
    int64_t timeout_ms = timeout_of(L, 2, op);
    if (lua_isnoneornil(L, 1)) {
        symmL_check(L, symm_group_resolve(SYMM_GROUP_DEFAULT_NAME, &group));
    } else {
        group = symm_group_retain(symmL_check_object(L, 1, &symmL_group_class, op));
    }
    int rc = symmL_blocking(L, symm_group_destroy(group, timeout_ms));
    symm_group_release(group);
    symmL_check(L, rc);
    return 0;
}

static const luaL_Reg functions[] = {{"init_process_group", init_process_group},
                                     {"destroy_process_group", destroy_process_group},
                                     {NULL, NULL}};

void symmL_open_group(lua_State *L) {
    symmL_open_class(L, &symmL_group_class);
    symmL_set_functions(L, functions);
}
