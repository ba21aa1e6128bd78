/* SPDX-License-Identifier: MIT */
#include <symm/dtype.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"

struct entry {
    const char *name;
    size_t size;
    enum symm_dtype_kind kind;
};

static const struct entry entries[SYMM_DTYPE_COUNT] = {
#define ENTRY(name, type, bytes, kind, npy) {#name, bytes, SYMM_KIND_##kind},
    SYMM_DTYPE_LIST(ENTRY)
#undef ENTRY
};

#define CHECK_SIZE(name, type, bytes, kind, npy) \
    _Static_assert(sizeof(type) == (bytes), #name " is stored in " #bytes " bytes");
SYMM_DTYPE_LIST(CHECK_SIZE)
#undef CHECK_SIZE

static int is_known(symm_dtype dtype) { return (unsigned)dtype < SYMM_DTYPE_COUNT; }

const char *symm_dtype_name(symm_dtype dtype) {
    return is_known(dtype) ? entries[dtype].name : NULL;
}

size_t symm_dtype_size(symm_dtype dtype) { return is_known(dtype) ? entries[dtype].size : 0; }

enum symm_dtype_kind symm_dtype_kind_of(symm_dtype dtype) {
    return is_known(dtype) ? entries[dtype].kind : SYMM_KIND_FLOAT;
}

int symm_dtype_parse(const char *name, symm_dtype *out) {
    char known[256] = "";
    size_t used = 0;
    for (int i = 0; i < SYMM_DTYPE_COUNT; i++) {
        if (name && strcmp(name, entries[i].name) == 0) {
            *out = (symm_dtype)i;
            return SYMM_OK;
        }
        int n = snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", entries[i].name);
        used += (size_t)n;
    }
    return symm__fail(SYMM_EINVALID, "there is no dtype named '%.64s' (known: %s)",
                      name ? name : "(null)", known);
}
