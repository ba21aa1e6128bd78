/* SPDX-License-Identifier: MIT
 *
 * For launchers: what a rank was doing, also after it was killed. The launcher makes a page for
 * each rank, hands its descriptor on by an environment variable, and describes the page when it
 * likes.
 */
#ifndef SYMM_ACTIVITY_H
#define SYMM_ACTIVITY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The variable that gives a rank the number of its descriptor. */
#define SYMM_ACTIVITY_VARIABLE "SYMM_STATUS_FD"

typedef struct symm_activity symm_activity;

/* A new page, in memory that goes with its last user. SYMM_EIO, SYMM_EOOM. */
int symm_activity_open(symm_activity **out);
void symm_activity_close(symm_activity *activity);
/* The descriptor to hand on; it closes on exec unless it is duplicated. -1 once it was dropped. */
int symm_activity_fd(const symm_activity *activity);
/* Closes the descriptor; the page stays readable. */
void symm_activity_drop_fd(symm_activity *activity);
/* One line: "in barrier (group 0, channel 2), waiting for 3.2 s", "after rendezvous (group 0)", or
 * "none yet". Cut to `size`; always terminated. */
void symm_activity_describe(const symm_activity *activity, char *text, size_t size);
/* 1 if the rank has said that it fails, with its code and when (symm_now_ns); else 0. */
int symm_activity_failure(const symm_activity *activity, int *code_out, int64_t *when_ns_out);

/* The rank says that it is going to end because of this error; the first one counts. Nothing
 * happens where no launcher looks. Any thread. */
void symm_activity_fail(int code);

#ifdef __cplusplus
}
#endif
#endif
