/* SPDX-License-Identifier: MIT
 *
 * A session that speaks PyTorch's protocol. It has no way to tell an error, so what cannot be
 * served closes the connection, as the field's daemons do; and it has no ids, so at most one
 * request waits, and only its cancellation may follow it.
 */
#include <stdlib.h>

#include "base/error.h"
#include "store/service.h"

/* The key, without the slash of users' keys, to which workers of PyTorch add 1 when they come. */
#define WORKERS_KEY "init/"

enum { READY = 0, NOT_READY = 1, STOP_WAITING = 0, WAIT_CANCELLED = 1 };

static int reply_u8(struct symm__session *session, uint8_t value) {
    symm__buffer_u8(&session->out, value);
    return symm__session_touch(session);
}

static int reply_i64(struct symm__session *session, int64_t value) {
    symm__buffer_u64(&session->out, (uint64_t)value);
    return symm__session_touch(session);
}

static int reply_bytes(struct symm__session *session, struct symm_slice value) {
    symm__buffer_u64(&session->out, value.size);
    symm__buffer_append(&session->out, value.data, value.size);
    return symm__session_touch(session);
}

void symm__session_answer_plain(struct symm__session *session) { reply_u8(session, STOP_WAITING); }

/* ---- requests: `in` has the arguments; negative closes the connection ---- */

static int do_compare_set(struct symm__session *session, const struct symm__plain *in) {
    struct symm_slice now = {NULL, 0};
    int rc =
        symm__keyspace_compare_set(session->service->space, symm__plain_argument(in, 0),
                                   symm__plain_argument(in, 1), symm__plain_argument(in, 2), &now);
    return rc < 0 ? rc : reply_bytes(session, now);
}

/* An absent key, which a client has seen before it asks, was deleted since: it reads as empty. */
static int do_get(struct symm__session *session, struct symm_slice key) {
    struct symm_slice value = {NULL, 0};
    symm__keyspace_find(session->service->space, key, &value);
    return reply_bytes(session, value);
}

static int do_add(struct symm__session *session, const struct symm__plain *in) {
    struct symm_slice key = symm__plain_argument(in, 0);
    int64_t amount = (int64_t)symm__plain_number(in, 1), sum = 0;
    int rc = symm__keyspace_add(session->service->space, key, amount, &sum);
    if (rc < 0) return rc;
    int is_worker = key.size == strlen(WORKERS_KEY) && memcmp(key.data, WORKERS_KEY, key.size) == 0;
    if (is_worker && amount == 1) session->service->joined++;
    return reply_i64(session, sum);
}

/* Makes the list of keys that the whole request is. */
static struct symm_slice *keys_of(const struct symm__plain *in) {
    struct symm_slice *keys = malloc((in->count + 1) * sizeof *keys);
    for (size_t i = 0; keys && i < in->count; i++) keys[i] = symm__plain_argument(in, i);
    if (!keys) symm__fail_oom((in->count + 1) * sizeof *keys);
    return keys;
}

static int do_check(struct symm__session *session, const struct symm__plain *in) {
    struct symm_slice *keys = keys_of(in);
    if (!keys) return SYMM_EOOM;
    int all = symm__keyspace_has_all(session->service->space, keys, in->count);
    free(keys);
    return reply_u8(session, all ? READY : NOT_READY);
}

static int do_wait(struct symm__session *session, const struct symm__plain *in) {
    struct symm_slice *keys = keys_of(in);
    if (!keys) return SYMM_EOOM;
    int rc = symm__session_wait(session, SYMM__PLAIN_WAIT, 0, keys, in->count);
    free(keys);
    return rc > 0 ? reply_u8(session, STOP_WAITING) : rc;
}

static int do_cancel_wait(struct symm__session *session) {
    uint16_t operation;
    symm__session_cancel(session, 0, &operation); /* if it was answered already, they cross */
    return reply_u8(session, WAIT_CANCELLED);
}

static int do_multi_get(struct symm__session *session, const struct symm__plain *in) {
    int rc = SYMM_OK;
    for (size_t i = 0; rc == SYMM_OK && i < in->count; i++) {
        rc = do_get(session, symm__plain_argument(in, i));
    }
    return rc;
}

static int do_multi_set(struct symm__session *session, const struct symm__plain *in) {
    int rc = SYMM_OK;
    for (size_t i = 0; rc == SYMM_OK && i < in->count; i += 2) {
        rc = symm__keyspace_set(session->service->space, symm__plain_argument(in, i),
                                symm__plain_argument(in, i + 1));
    }
    return rc;
}

static int do_ping(struct symm__session *session, const struct symm__plain *in) {
    symm__buffer_u32(&session->out, (uint32_t)symm__plain_number(in, 0));
    return symm__session_touch(session);
}

static int run(struct symm__session *session, const struct symm__plain *in) {
    struct symm__keyspace *space = session->service->space;
    struct symm_slice first = {NULL, 0}, second = first, all = first;
    if (in->count > 0) first = symm__plain_argument(in, 0);
    if (in->count > 1) second = symm__plain_argument(in, 1);
    switch (symm__plain_opcode_of(in)) {
    case SYMM__PLAIN_SET: return symm__keyspace_set(space, first, second);
    case SYMM__PLAIN_COMPARE_SET: return do_compare_set(session, in);
    case SYMM__PLAIN_GET: return do_get(session, first);
    case SYMM__PLAIN_ADD: return do_add(session, in);
    case SYMM__PLAIN_CHECK: return do_check(session, in);
    case SYMM__PLAIN_WAIT: return do_wait(session, in);
    case SYMM__PLAIN_NUM_KEYS: return reply_i64(session, symm__keyspace_count(space, all));
    case SYMM__PLAIN_DELETE: return reply_i64(session, symm__keyspace_delete(space, first));
    case SYMM__PLAIN_APPEND: return symm__keyspace_append(space, first, second);
    case SYMM__PLAIN_MULTI_GET: return do_multi_get(session, in);
    case SYMM__PLAIN_MULTI_SET: return do_multi_set(session, in);
    case SYMM__PLAIN_CANCEL_WAIT: return do_cancel_wait(session);
    default: return do_ping(session, in);
    }
}

int symm__session_feed_plain(struct symm__session *session, const char **data, size_t *size) {
    int rc = symm__plain_feed(&session->in.plain, data, size);
    if (rc <= 0) return rc;
    rc = run(session, &session->in.plain);
    symm__service_answer_ready(session->service);
    symm__plain_next(&session->in.plain);
    return rc;
}
