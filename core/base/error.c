/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct symm_error last_error = {
    .size = sizeof(struct symm_error), .rank = -1, .peer = -1, .channel = -1, .seq = -1};

int symm__is_forked_child;

static void mark_forked(void) { symm__is_forked_child = 1; }

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, mark_forked);
}

const char *symm_status_name(int code) {
    switch (code) {
    case SYMM_OK: return "OK";
#define CASE(name, number, text) \
    case SYMM_E##name: return #name;
        SYMM_STATUS_LIST(CASE)
#undef CASE
    default: return "UNKNOWN";
    }
}

const char *symm_status_text(int code) {
    switch (code) {
    case SYMM_OK: return "success";
#define CASE(name, number, text) \
    case SYMM_E##name: return text;
        SYMM_STATUS_LIST(CASE)
#undef CASE
    default: return "unknown status code";
    }
}

const struct symm_error *symm_last_error(void) { return &last_error; }

static void reset(int code) {
    memset(&last_error, 0, sizeof last_error);
    last_error.size = sizeof last_error;
    last_error.code = code;
    last_error.rank = last_error.peer = last_error.channel = -1;
    last_error.seq = -1;
}

void symm_clear_error(void) { reset(SYMM_OK); }

int symm_set_error(const struct symm_error *error) { return symm__fail_with(error); }

static void copy_text(char *to, size_t size, const char *from) {
    if (from) snprintf(to, size, "%s", from);
}

static void place(const struct symm__where *where) {
    copy_text(last_error.op, sizeof last_error.op, where->op);
    copy_text(last_error.group, sizeof last_error.group, where->group);
    last_error.rank = where->rank;
    last_error.peer = where->peer;
    last_error.channel = where->channel;
    last_error.seq = where->seq;
}

int symm__fail_at(const struct symm__where *where, int code, const char *format, ...) {
    char message[SYMM_ERROR_MESSAGE_SIZE]; /* arguments may point into last_error */
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct symm__where copy = *where;
    char op[SYMM_ERROR_OP_SIZE] = "", group[SYMM_ERROR_GROUP_SIZE] = "";
    copy_text(op, sizeof op, where->op);
    copy_text(group, sizeof group, where->group);
    copy.op = op;
    copy.group = group;
    reset(code);
    place(&copy);
    memcpy(last_error.message, message, sizeof message);
    return code;
}

int symm__fail(int code, const char *format, ...) {
    char message[SYMM_ERROR_MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    reset(code);
    memcpy(last_error.message, message, sizeof message);
    return code;
}

int symm__fail_errno(int error_number, const char *format, ...) {
    char message[SYMM_ERROR_MESSAGE_SIZE], reason[128];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    errno = error_number;
    snprintf(reason, sizeof reason, "%m"); /* strerror_r has two meanings, by C library */
    int is_limit = error_number == EMFILE || error_number == ENFILE;
    int code = is_limit ? SYMM_ELIMIT : error_number == ENOMEM ? SYMM_EOOM : SYMM_EIO;
    return symm__fail(code, "%.380s: %s%s", message, reason,
                      is_limit ? "; raise the limit of descriptors (ulimit -n)" : "");
}

int symm__fail_with(const struct symm_error *error) {
    last_error = *error;
    last_error.size = sizeof last_error;
    return error->code;
}

int symm__fail_in(const struct symm__where *where) {
    if (!last_error.op[0]) copy_text(last_error.op, sizeof last_error.op, where->op);
    if (!last_error.group[0]) copy_text(last_error.group, sizeof last_error.group, where->group);
    if (last_error.rank < 0) last_error.rank = where->rank;
    if (last_error.peer < 0) last_error.peer = where->peer;
    if (last_error.channel < 0) last_error.channel = where->channel;
    if (last_error.seq < 0) last_error.seq = where->seq;
    return last_error.code;
}

int symm__fail_oom(size_t bytes) {
    return symm__fail(SYMM_EOOM, "out of memory (%zu bytes)", bytes);
}

int symm__fail_forked(void) {
    return symm__fail(
        SYMM_EUNSUPPORTED,
        "libsymm cannot be used in a forked child; start it in a new process instead");
}
