/* SPDX-License-Identifier: MIT
 *
 * A session that speaks frames (wire.h). What is wrong with a request is told in its reply; the
 * connection goes on.
 */
#include <stdlib.h>

#include "base/error.h"
#include "store/service.h"

/* ---- replies ---- */

static void put(struct symm__session *session, const struct symm__frame_header *header,
                const void *payload) {
    char head[SYMM__WIRE_HEADER_SIZE];
    symm__wire_put_header(head, header);
    symm__buffer_append(&session->out, head, sizeof head);
    symm__buffer_append(&session->out, payload, header->length);
    symm__session_touch(session); /* memory that failed is looked at when the request is done */
}

static void reply(struct symm__session *session, const struct symm__frame_header *request,
                  const void *payload, size_t size) {
    struct symm__frame_header header = {(uint32_t)size, request->operation, SYMM__WIRE_REPLY,
                                        request->id};
    put(session, &header, payload);
}

static void reply_u8(struct symm__session *session, const struct symm__frame_header *request,
                     int value) {
    uint8_t byte = (uint8_t)value;
    reply(session, request, &byte, 1);
}

static void reply_i64(struct symm__session *session, const struct symm__frame_header *request,
                      int64_t value) {
    char bytes[8];
    symm__wire_put_u64(bytes, (uint64_t)value);
    reply(session, request, bytes, sizeof bytes);
}

/* Answers with this thread's last error. */
static void reply_error(struct symm__session *session, const struct symm__frame_header *request) {
    const struct symm_error *error = symm_last_error();
    char payload[4 + SYMM_ERROR_MESSAGE_SIZE];
    size_t size = strlen(error->message);
    symm__wire_put_u32(payload, (uint32_t)error->code);
    memcpy(payload + 4, error->message, size);
    struct symm__frame_header header = {(uint32_t)(4 + size), request->operation,
                                        SYMM__WIRE_REPLY | SYMM__WIRE_ERROR, request->id};
    put(session, &header, payload);
}

static void reply_malformed(struct symm__session *session,
                            const struct symm__frame_header *request) {
    symm__fail(SYMM_ESTORE, "the request (operation %u, %u bytes) is malformed", request->operation,
               request->length);
    reply_error(session, request);
}

void symm__session_answer_frame(struct symm__session *session, uint16_t operation, uint64_t id,
                                struct symm_slice key) {
    struct symm__frame_header header = {0, operation, 0, id};
    struct symm_slice value = {NULL, 0};
    if (operation == SYMM__WIRE_GET) {
        symm__keyspace_find(session->service->space, key, &value);
    }
    reply(session, &header, value.data, value.size);
}

/* ---- one function a request ---- */

typedef void request_function(struct symm__session *session,
                              const struct symm__frame_header *header, struct symm__cursor *body);

static void do_set(struct symm__session *session, const struct symm__frame_header *header,
                   struct symm__cursor *body) {
    struct symm_slice key = symm__cursor_slice(body, symm__cursor_u32(body));
    struct symm_slice value = symm__cursor_rest(body);
    if (body->bad) {
        reply_malformed(session, header);
    } else if (symm__keyspace_set(session->service->space, key, value) < 0) {
        reply_error(session, header);
    } else {
        reply(session, header, NULL, 0);
    }
}

/* Answers at once if all keys exist, else when they do. */
static void begin_wait(struct symm__session *session, const struct symm__frame_header *header,
                       const struct symm_slice *keys, size_t count) {
    struct symm_slice none = {NULL, 0};
    int rc = symm__session_wait(session, header->operation, header->id, keys, count);
    if (rc < 0) reply_error(session, header);
    if (rc > 0) {
        symm__session_answer_frame(session, header->operation, header->id, count ? keys[0] : none);
    }
}

static void do_get(struct symm__session *session, const struct symm__frame_header *header,
                   struct symm__cursor *body) {
    struct symm_slice key = symm__cursor_rest(body);
    begin_wait(session, header, &key, 1);
}

static void do_add(struct symm__session *session, const struct symm__frame_header *header,
                   struct symm__cursor *body) {
    int64_t amount = (int64_t)symm__cursor_u64(body), sum = 0;
    struct symm_slice key = symm__cursor_rest(body);
    if (body->bad) {
        reply_malformed(session, header);
    } else if (symm__keyspace_add(session->service->space, key, amount, &sum) < 0) {
        reply_error(session, header);
    } else {
        reply_i64(session, header, sum);
    }
}

/* Reads a list of keys; NULL (and answered) if it is malformed or memory is out. */
static struct symm_slice *read_keys(struct symm__session *session,
                                    const struct symm__frame_header *header,
                                    struct symm__cursor *body, size_t *count_out) {
    size_t count = symm__cursor_u32(body);
    if (body->bad || count > body->left / 4) { /* each key has 4 bytes at least */
        reply_malformed(session, header);
        return NULL;
    }
    struct symm_slice *keys = malloc((count + 1) * sizeof *keys);
    if (!keys) {
        symm__fail_oom((count + 1) * sizeof *keys);
        reply_error(session, header);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) keys[i] = symm__cursor_slice(body, symm__cursor_u32(body));
    *count_out = count;
    if (!body->bad && body->left == 0) return keys;
    free(keys);
    reply_malformed(session, header);
    return NULL;
}

static void do_check(struct symm__session *session, const struct symm__frame_header *header,
                     struct symm__cursor *body) {
    size_t count = 0;
    struct symm_slice *keys = read_keys(session, header, body, &count);
    if (!keys) return;
    reply_u8(session, header, symm__keyspace_has_all(session->service->space, keys, count));
    free(keys);
}

static void do_wait(struct symm__session *session, const struct symm__frame_header *header,
                    struct symm__cursor *body) {
    size_t count = 0;
    struct symm_slice *keys = read_keys(session, header, body, &count);
    if (!keys) return;
    begin_wait(session, header, keys, count);
    free(keys);
}

static void do_num_keys(struct symm__session *session, const struct symm__frame_header *header,
                        struct symm__cursor *body) {
    struct symm_slice prefix = symm__cursor_rest(body);
    reply_i64(session, header, symm__keyspace_count(session->service->space, prefix));
}

static void do_delete(struct symm__session *session, const struct symm__frame_header *header,
                      struct symm__cursor *body) {
    struct symm_slice key = symm__cursor_rest(body);
    reply_u8(session, header, symm__keyspace_delete(session->service->space, key));
}

static void do_cancel(struct symm__session *session, const struct symm__frame_header *header,
                      struct symm__cursor *body) {
    struct symm__frame_header answer = {0, 0, SYMM__WIRE_REPLY | SYMM__WIRE_CANCELLED, header->id};
    (void)body;
    /* A request that does not wait was answered already: the answers cross. */
    if (symm__session_cancel(session, header->id, &answer.operation)) put(session, &answer, NULL);
}

static void do_join(struct symm__session *session, const struct symm__frame_header *header,
                    struct symm__cursor *body) {
    (void)body;
    session->service->joined += !session->joined;
    session->joined = 1;
    reply(session, header, NULL, 0);
}

static void do_leave(struct symm__session *session, const struct symm__frame_header *header,
                     struct symm__cursor *body) {
    (void)header;
    (void)body;
    session->left = 1;
}

static request_function *function_of(uint16_t operation) {
    switch (operation) {
    case SYMM__WIRE_SET: return do_set;
    case SYMM__WIRE_GET: return do_get;
    case SYMM__WIRE_ADD: return do_add;
    case SYMM__WIRE_CHECK: return do_check;
    case SYMM__WIRE_WAIT: return do_wait;
    case SYMM__WIRE_NUM_KEYS: return do_num_keys;
    case SYMM__WIRE_DELETE: return do_delete;
    case SYMM__WIRE_CANCEL: return do_cancel;
    case SYMM__WIRE_JOIN: return do_join;
    case SYMM__WIRE_LEAVE: return do_leave;
    default: return NULL;
    }
}

static int run(struct symm__session *session, const struct symm__frame *frame) {
    const struct symm__frame_header *header = &frame->header;
    struct symm__cursor body = {frame->payload, header->length, 0};
    request_function *function = function_of(header->operation);
    if (!frame->payload) {
        symm__fail(SYMM_ELIMIT, "a request of %u bytes is over the store's frame limit of %zu",
                   header->length, session->service->frame_limit);
        reply_error(session, header);
    } else if (!function || header->flags != 0) {
        symm__fail(SYMM_EUNSUPPORTED, "the store does not know operation %u", header->operation);
        reply_error(session, header);
    } else {
        function(session, header, &body);
        symm__service_answer_ready(session->service);
    }
    free(frame->owned);
    return session->out.failed ? symm__fail_oom(session->out.size) : SYMM_OK;
}

/* ---- the stream ---- */

int symm__session_feed_frame(struct symm__session *session, const char **data, size_t *size) {
    struct symm__frame frame;
    int rc = symm__frames_feed(&session->in.frames, data, size, &frame);
    return rc > 0 ? run(session, &frame) : rc;
}

size_t symm__session_room(struct symm__session *session, char **at_out) {
    if (session->stage != SYMM__SESSION_FRAMES) return 0;
    return symm__frames_room(&session->in.frames, at_out);
}

int symm__session_filled(struct symm__session *session, size_t size) {
    struct symm__frame frame;
    if (!symm__frames_filled(&session->in.frames, size, &frame)) return SYMM_OK;
    return run(session, &frame);
}

void symm__session_hello(struct symm__session *session, uint32_t version) {
    const struct symm__service *service = session->service;
    char payload[SYMM__WIRE_HELLO_SIZE];
    struct symm__frame_header header = {sizeof payload, SYMM__WIRE_HELLO, 0, 0};
    symm__wire_put_u32(payload, version);
    symm__wire_put_u32(payload + 4, 0); /* capabilities: none yet */
    symm__wire_put_u64(payload + 8, service->limits.key);
    symm__wire_put_u64(payload + 16, service->limits.value);
    symm__wire_put_u64(payload + 24, service->limits.keys);
    symm__wire_put_u64(payload + 32, service->limits.memory);
    symm__wire_put_u64(payload + 40, service->frame_limit);
    symm__buffer_u32(&session->out, SYMM__WIRE_ANSWER | version);
    put(session, &header, payload);
}

void symm__session_goodbye(struct symm__session *session) {
    struct symm__frame_header header = {0, SYMM__WIRE_GOODBYE, 0, 0};
    if (session->stage == SYMM__SESSION_FRAMES) put(session, &header, NULL);
}
