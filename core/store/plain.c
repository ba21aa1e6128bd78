/* SPDX-License-Identifier: MIT */
#include "store/plain.h"

#include <stdlib.h>

#include "base/error.h"

#define KEPT_CAPACITY 256 /* a request buffer of at most this size stays with its session */

/* By opcode; NULL: not known. */
static const char *const arguments_of[256] = {
#define ENTRY(name, opcode, arguments) [opcode] = (arguments),
    SYMM__PLAIN_REQUESTS(ENTRY)
#undef ENTRY
};

void symm__plain_init(struct symm__plain *plain, const struct symm__keyspace_limits *limits) {
    memset(plain, 0, sizeof *plain);
    plain->limits = limits;
    plain->need = 1;
}

void symm__plain_free(struct symm__plain *plain) {
    symm__buffer_free(&plain->bytes);
    free(plain->list);
    plain->list = NULL;
}

void symm__plain_next(struct symm__plain *plain) {
    struct symm__buffer bytes = plain->bytes;
    const struct symm__keyspace_limits *limits = plain->limits;
    if (bytes.capacity > KEPT_CAPACITY) symm__buffer_free(&bytes);
    free(plain->list);
    symm__plain_init(plain, limits);
    plain->bytes = bytes;
    plain->bytes.size = 0;
}

uint64_t symm__plain_number(const struct symm__plain *plain, size_t i) {
    struct symm_slice slice = symm__plain_argument(plain, i);
    struct symm__cursor cursor = {slice.data, slice.size, 0};
    return slice.size == 4 ? symm__cursor_u32(&cursor) : symm__cursor_u64(&cursor);
}

static uint64_t last_u64(const struct symm__plain *plain) {
    struct symm__cursor cursor = {plain->bytes.data + plain->bytes.size - 8, 8, 0};
    return symm__cursor_u64(&cursor);
}

/* ---- steps: each is made when `need` bytes are there, and says how many the next one needs ----
 */

static int keep(struct symm__plain *plain, size_t size) {
    if (plain->count == plain->capacity) {
        size_t capacity = plain->capacity ? plain->capacity * 2 : 4;
        struct symm__plain_argument *list = realloc(plain->list, capacity * sizeof *list);
        if (!list) return symm__fail_oom(capacity * sizeof *list);
        plain->list = list;
        plain->capacity = capacity;
    }
    plain->list[plain->count++] = (struct symm__plain_argument){plain->bytes.size - size, size};
    return SYMM_OK;
}

/* 1: the request is whole. */
static int need_for_argument(struct symm__plain *plain) {
    if (!*plain->at && plain->repeats > 1) { /* the list's next turn */
        plain->repeats--;
        plain->at = plain->arguments + 1;
    }
    if (!*plain->at) return 1;
    plain->need += *plain->at == 'u' ? 4 : 8;
    return 0;
}

static int step_opcode(struct symm__plain *plain) {
    plain->arguments = plain->at = arguments_of[symm__plain_opcode_of(plain)];
    if (plain->arguments) return need_for_argument(plain);
    return symm__fail(SYMM_EUNSUPPORTED, "the plain protocol's operation %d is not known",
                      symm__plain_opcode_of(plain));
}

static int step_count(struct symm__plain *plain) {
    plain->repeats = last_u64(plain);
    if (plain->repeats > plain->limits->keys) {
        return symm__fail(SYMM_ELIMIT, "%llu keys in one request are over the limit of %zu",
                          (unsigned long long)plain->repeats, plain->limits->keys);
    }
    plain->at += plain->repeats ? 1 : strlen(plain->at);
    return need_for_argument(plain);
}

static int step_length(struct symm__plain *plain) {
    uint64_t size = last_u64(plain);
    size_t limit = *plain->at == 'k' ? plain->limits->key : plain->limits->value;
    size_t most = plain->limits->key + plain->limits->value * 2 + 64;
    if (size > limit || plain->bytes.size + size > most) {
        return symm__fail(SYMM_ELIMIT, "a %s of %llu bytes is over the limit of %zu",
                          *plain->at == 'k' ? "key" : "value", (unsigned long long)size, limit);
    }
    plain->in_string = 1;
    plain->string_size = size;
    plain->need += size;
    return 0;
}

static int end_argument(struct symm__plain *plain, size_t size) {
    int rc = keep(plain, size);
    if (rc < 0) return rc;
    plain->in_string = 0;
    plain->at++;
    return need_for_argument(plain);
}

static int step(struct symm__plain *plain) {
    if (!plain->arguments) return step_opcode(plain);
    if (plain->in_string) return end_argument(plain, plain->string_size);
    switch (*plain->at) {
    case '*': return step_count(plain);
    case 'q': return end_argument(plain, 8);
    case 'u': return end_argument(plain, 4);
    default: return step_length(plain);
    }
}

int symm__plain_feed(struct symm__plain *plain, const char **data, size_t *size) {
    int rc = 0;
    while (rc == 0) {
        size_t missing = plain->need - plain->bytes.size;
        size_t count = missing < *size ? missing : *size;
        symm__buffer_append(&plain->bytes, *data, count);
        if (plain->bytes.failed) return symm__fail_oom(plain->need);
        *data += count;
        *size -= count;
        if (count < missing) return 0;
        rc = step(plain);
    }
    return rc;
}
