/* SPDX-License-Identifier: MIT
 *
 * Looks for CBLAS once, under the name that scripts/configure found and then under the usual ones.
 * What was opened stays open.
 */
#include "tensor/cpu/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "base/error.h"
#include "tensor/tensor.h"

#ifndef SYMM__BLAS_SONAME
#define SYMM__BLAS_SONAME "libopenblas.so.0"
#endif

static const char *const names[] = {SYMM__BLAS_SONAME, "libopenblas.so.0", "libcblas.so.3",
                                    "libblas.so.3", NULL};

/* Written by look_for_blas, read after pthread_once. */
static struct symm__blas blas;
static int is_found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int resolve(void *library, const char *name, void *to) {
    void *symbol = dlsym(library, name);
    *(void **)to = symbol; /* POSIX: a symbol's address and a function's are alike */
    return symbol != NULL;
}

static int resolve_all(void *library) {
    return resolve(library, "cblas_sgemv", &blas.sgemv) &&
           resolve(library, "cblas_dgemv", &blas.dgemv) &&
           resolve(library, "cblas_sgemm", &blas.sgemm) &&
           resolve(library, "cblas_dgemm", &blas.dgemm);
}

/* The library's threads inherit the mask: signals are the application's. */
static void look_for_blas(void) {
    sigset_t all, kept;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &kept);
    for (int i = 0; names[i] && !is_found; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) continue;
        is_found = resolve_all(library);
        if (!is_found) dlclose(library);
    }
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
}

int symm__blas_open(const struct symm__blas **out) {
    pthread_once(&once, look_for_blas);
    if (!is_found) {
        return symm__fail_at(SYMM__IN("matmul"), SYMM_EMISSING_PLUGIN,
                             "no CBLAS found: looked for %s, libopenblas.so.0, libcblas.so.3 and "
                             "libblas.so.3 (Debian package libopenblas0)",
                             SYMM__BLAS_SONAME);
    }
    *out = &blas;
    return SYMM_OK;
}
