/* SPDX-License-Identifier: MIT
 *
 * Who is at a daemon: numbers that its thread publishes and other threads of the process wait for.
 */
#ifndef SYMM_STORE_ATTENDANCE_H
#define SYMM_STORE_ATTENDANCE_H

#include <pthread.h>
#include <stdint.h>

struct symm__attendance {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int clients; /* connected now; this and `joined` under lock */
    int joined;  /* have joined as workers */
};

void symm__attendance_init(struct symm__attendance *attendance);
void symm__attendance_destroy(struct symm__attendance *attendance);
/* The daemon's thread, whenever a number may have changed. */
void symm__attendance_publish(struct symm__attendance *attendance, int clients, int joined);
/* Wait until `count` workers have joined, or at most `count` clients are left. 0; 1 if the deadline
 * passed, with the number as it was then in *now_out; negative: the wait hook. */
int symm__attendance_wait_joined(struct symm__attendance *attendance, int count,
                                 int64_t deadline_ns, int *now_out);
int symm__attendance_wait_left(struct symm__attendance *attendance, int count, int64_t deadline_ns,
                               int *now_out);

#endif
