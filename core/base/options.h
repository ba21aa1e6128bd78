/* SPDX-License-Identifier: MIT
 *
 * Option structs grow at their end, and begin with their size: a caller built against an older
 * header gives a smaller one, and what it does not know keeps its default.
 */
#ifndef SYMM_BASE_OPTIONS_H
#define SYMM_BASE_OPTIONS_H

#include <stddef.h>

/* Copies what `from` (NULL: nothing) has over the defaults in `to`, of `known` bytes. SYMM_EINVALID
 * for a size below the struct's first version's, `oldest`, or above this library's; `name` is the
 * struct's, for the message. */
int symm__options_read(const char *name, void *to, size_t oldest, size_t known, const void *from);

#endif
