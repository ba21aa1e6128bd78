/* SPDX-License-Identifier: MIT */
#include "store/attendance.h"

#include "store/condition.h"

void symm__attendance_init(struct symm__attendance *attendance) {
    pthread_mutex_init(&attendance->lock, NULL);
    symm__condition_init(&attendance->changed);
    attendance->clients = attendance->joined = 0;
}

void symm__attendance_destroy(struct symm__attendance *attendance) {
    pthread_cond_destroy(&attendance->changed);
    pthread_mutex_destroy(&attendance->lock);
}

void symm__attendance_publish(struct symm__attendance *attendance, int clients, int joined) {
    /* Only this thread writes the numbers, so it may read them without the lock. */
    if (attendance->clients == clients && attendance->joined == joined) return;
    pthread_mutex_lock(&attendance->lock);
    attendance->clients = clients;
    attendance->joined = joined;
    pthread_cond_broadcast(&attendance->changed);
    pthread_mutex_unlock(&attendance->lock);
}

typedef int is_reached(const struct symm__attendance *attendance, int count);

static int all_joined(const struct symm__attendance *attendance, int count) {
    return attendance->joined >= count;
}

static int have_left(const struct symm__attendance *attendance, int count) {
    return attendance->clients <= count;
}

static int wait_for(struct symm__attendance *attendance, is_reached *reached, int count,
                    int64_t deadline_ns) {
    int rc = 0;
    while (rc == 0 && !reached(attendance, count)) {
        if (symm__deadline_passed(deadline_ns)) {
            rc = 1;
        } else {
            rc = symm__condition_slice(&attendance->changed, &attendance->lock, deadline_ns);
        }
    }
    return rc;
}

int symm__attendance_wait_joined(struct symm__attendance *attendance, int count,
                                 int64_t deadline_ns, int *now_out) {
    pthread_mutex_lock(&attendance->lock);
    int rc = wait_for(attendance, all_joined, count, deadline_ns);
    *now_out = attendance->joined;
    pthread_mutex_unlock(&attendance->lock);
    return rc;
}

int symm__attendance_wait_left(struct symm__attendance *attendance, int count, int64_t deadline_ns,
                               int *now_out) {
    pthread_mutex_lock(&attendance->lock);
    int rc = wait_for(attendance, have_left, count, deadline_ns);
    *now_out = attendance->clients;
    pthread_mutex_unlock(&attendance->lock);
    return rc;
}
