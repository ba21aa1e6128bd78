/* SPDX-License-Identifier: MIT */
#include <symm/version.h>

const char *symm_version(void) { return SYMM_VERSION; }
