/* SPDX-License-Identifier: MIT
 *
 * The library's version. SYMM_ABI_VERSION changes when a struct or function changes incompatibly.
 */
#ifndef SYMM_VERSION_H
#define SYMM_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define SYMM_VERSION "0.1.0"
#define SYMM_ABI_VERSION 1

/* SYMM_VERSION of the library that runs, which may differ from the header's. */
const char *symm_version(void);

#ifdef __cplusplus
}
#endif
#endif
