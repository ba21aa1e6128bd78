/* SPDX-License-Identifier: MIT
 *
 * How the library reports: the first function that decides an error fills this thread's
 * symm_last_error() and returns the code; everybody above only passes the code on.
 */
#ifndef SYMM_BASE_ERROR_H
#define SYMM_BASE_ERROR_H

#include <symm/error.h>

/* Where something failed; NULL or -1 for what does not apply. */
struct symm__where {
    const char *op;
    const char *group;
    int rank;
    int peer;
    int channel;
    int64_t seq;
};
#define SYMM__WHERE_NONE ((struct symm__where){NULL, NULL, -1, -1, -1, -1})

#if defined(__GNUC__)
#define SYMM__PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define SYMM__PRINTF(text, first)
#endif

/* Both return `code`. */
int symm__fail(int code, const char *format, ...) SYMM__PRINTF(2, 3);
int symm__fail_at(const struct symm__where *where, int code, const char *format, ...)
    SYMM__PRINTF(3, 4);
/* "description: strerror(error_number)"; ENOMEM becomes SYMM_EOOM, EMFILE and ENFILE
 * SYMM_ELIMIT with the words to type, everything else SYMM_EIO. */
int symm__fail_errno(int error_number, const char *format, ...) SYMM__PRINTF(2, 3);
/* Puts a kept error (a failed work's, a reply's) into this thread's place and returns its code. */
int symm__fail_with(const struct symm_error *error);
/* Fills op, group, rank of the current error where they are still empty; returns its code. */
int symm__fail_in(const struct symm__where *where);
/* "out of memory (N bytes)" */
int symm__fail_oom(size_t bytes);

/* In a forked child every entry point that touches threads, sockets or shared words fails. */
extern int symm__is_forked_child;
int symm__fail_forked(void);
#define SYMM__GUARD_FORK()              \
    do {                                \
        if (symm__is_forked_child) {    \
            return symm__fail_forked(); \
        }                               \
    } while (0)

#endif
