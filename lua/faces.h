/* SPDX-License-Identifier: MIT
 *
 * The hand-written Lua face (the files of lua/symm), embedded: scripts/embed.lua writes the table.
 */
#ifndef SYMM_LUA_FACES_H
#define SYMM_LUA_FACES_H

#include <stddef.h>

struct symmL_face {
    const char *name;   /* of the module: "symm" for init.lua, "symm.foo" for foo.lua */
    const char *source; /* text, `size` bytes and a NUL */
    size_t size;
};

/* Ended by an entry whose name is NULL. */
extern const struct symmL_face symmL_faces[];

#endif
