/* SPDX-License-Identifier: MIT
 *
 * Requests of PyTorch's store protocol, cut out of a stream. A request is an opcode and arguments,
 * without a length of the whole: numbers of 4 or 8 bytes; strings, which have their length before
 * them in 8 bytes; lists, which have their count there. All little-endian.
 *
 * Invariant: remembers which argument it is in, so that no byte is looked at twice, and a request
 * is handed out once, whole.
 */
#ifndef SYMM_STORE_PLAIN_H
#define SYMM_STORE_PLAIN_H

#include "store/keyspace.h"
#include "store/wire.h"

/* X(NAME, opcode, arguments): k key, v value, q 64-bit number, u 32-bit number, * list of what
 * follows it. */
#define SYMM__PLAIN_REQUESTS(X) \
    X(SET, 1, "kv")             \
    X(COMPARE_SET, 2, "kvv")    \
    X(GET, 3, "k")              \
    X(ADD, 4, "kq")             \
    X(CHECK, 5, "*k")           \
    X(WAIT, 6, "*k")            \
    X(NUM_KEYS, 7, "")          \
    X(DELETE, 8, "k")           \
    X(APPEND, 9, "kv")          \
    X(MULTI_GET, 10, "*k")      \
    X(MULTI_SET, 11, "*kv")     \
    X(CANCEL_WAIT, 12, "")      \
    X(PING, 13, "u")

enum symm__plain_opcode {
#define SYMM__PLAIN_ENUM(name, opcode, arguments) SYMM__PLAIN_##name = (opcode),
    SYMM__PLAIN_REQUESTS(SYMM__PLAIN_ENUM)
#undef SYMM__PLAIN_ENUM
};

/* A string's or number's place in `bytes`. */
struct symm__plain_argument {
    size_t begin, size;
};

struct symm__plain {
    const struct symm__keyspace_limits *limits;
    struct symm__buffer bytes; /* of the request, from its opcode on */
    size_t need;               /* `bytes.size` at which the next step can be made */
    const char *arguments;     /* the pattern above; NULL before the opcode */
    const char *at;            /* the argument that is being read */
    int in_string;             /* its length is known, its bytes are coming: */
    size_t string_size;
    uint64_t repeats;                  /* of the list, this turn included */
    struct symm__plain_argument *list; /* what has been read */
    size_t count, capacity;
};

void symm__plain_init(struct symm__plain *plain, const struct symm__keyspace_limits *limits);
void symm__plain_free(struct symm__plain *plain);
/* Takes bytes up to the end of one request. 1: it is whole, until symm__plain_next. 0: more are
 * needed. Negative: unknown opcode, over a limit, no memory. */
int symm__plain_feed(struct symm__plain *plain, const char **data, size_t *size);
void symm__plain_next(struct symm__plain *plain);

static inline int symm__plain_opcode_of(const struct symm__plain *plain) {
    return (unsigned char)plain->bytes.data[0];
}
static inline struct symm_slice symm__plain_argument(const struct symm__plain *plain, size_t i) {
    struct symm_slice slice = {plain->bytes.data + plain->list[i].begin, plain->list[i].size};
    return slice;
}
uint64_t symm__plain_number(const struct symm__plain *plain, size_t i);

#endif
