/* SPDX-License-Identifier: MIT
 *
 * uthash, told not to end the process when memory runs out: after HASH_ADD* look at
 * `element->hh.tbl`; NULL says that the element was not added.
 */
#ifndef SYMM_BASE_HASH_H
#define SYMM_BASE_HASH_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#endif
