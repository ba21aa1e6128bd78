/* SPDX-License-Identifier: MIT
 *
 * What went wrong last on this thread. Every public function that fails overwrites it; one that
 * succeeds leaves it alone. The struct has a fixed size and no destructor, so it may be copied.
 */
#ifndef SYMM_ERROR_H
#define SYMM_ERROR_H

#include <stddef.h>
#include <stdint.h>

#include <symm/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SYMM_ERROR_OP_SIZE 32
#define SYMM_ERROR_GROUP_SIZE 64
#define SYMM_ERROR_MESSAGE_SIZE 512

/* Fields that do not apply are "" or -1. */
struct symm_error {
    size_t size;                           /* sizeof(struct symm_error) of the library */
    int code;                              /* enum symm_status; 0: nothing failed yet */
    char op[SYMM_ERROR_OP_SIZE];           /* the operation, as the API names it: "barrier" */
    char group[SYMM_ERROR_GROUP_SIZE];     /* group_name, cut to fit */
    int rank;                              /* the rank that reports, in that group */
    int peer;                              /* the rank that it waited for or that failed */
    int channel;                           /* signal channel */
    int64_t seq;                           /* sequence number of the operation */
    char message[SYMM_ERROR_MESSAGE_SIZE]; /* one line that a person can act on */
};

/* This thread's last error; never NULL; valid until the thread's next failing call. */
const struct symm_error *symm_last_error(void);
/* Forgets this thread's last error: code becomes 0. */
void symm_clear_error(void);
/* For layers above the library, so that they report as it does: makes a copy of *error this
 * thread's last error and returns its code. */
int symm_set_error(const struct symm_error *error);

#ifdef __cplusplus
}
#endif
#endif
