/* SPDX-License-Identifier: MIT */
#include "base/options.h"

#include <string.h>

#include "base/error.h"

int symm__options_read(const char *name, void *to, size_t oldest, size_t known, const void *from) {
    size_t size = 0;
    if (!from) return SYMM_OK;
    memcpy(&size, from, sizeof size);
    if (size < oldest || size > known) {
        return symm__fail(SYMM_EINVALID, "%s.size is %zu: begin with its INIT macro (%zu)", name,
                          size, known);
    }
    memcpy(to, from, size);
    memcpy(to, &known, sizeof known);
    return SYMM_OK;
}
