/* SPDX-License-Identifier: MIT
 *
 * What the tests of the runtime share.
 */
#ifndef SYMM_TESTS_RUNTIME_H
#define SYMM_TESTS_RUNTIME_H

#include <symm/runtime.h>
#include <symm/symm.h>

#include "tests/support/check.h"

static inline symm_runtime *open_new(void) {
    symm_runtime *runtime = NULL;
    CHECK_OK(symm_runtime_open(NULL, &runtime));
    return runtime;
}

static inline int run(symm_runtime *runtime, const char *text) {
    return symm_runtime_run_string(runtime, text, "test");
}

#endif
