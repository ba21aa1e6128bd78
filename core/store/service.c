/* SPDX-License-Identifier: MIT */
#include "store/service.h"

#include <stdlib.h>
#include <utlist.h>

#include "base/error.h"
#include "base/hash.h"

struct symm__request {
    struct symm__waiter waiter; /* first */
    struct symm__session *session;
    uint64_t id;
    uint16_t operation;
    UT_hash_handle hh;
    size_t key_size; /* of a GET */
    char key[];
};

int symm__service_open(const struct symm__keyspace_limits *limits, struct symm__service *service) {
    memset(service, 0, sizeof *service);
    service->limits = *limits;
    service->frame_limit = limits->key + limits->value + 64;
    if (service->frame_limit > UINT32_MAX) service->frame_limit = UINT32_MAX;
    return symm__keyspace_open(limits, &service->space);
}

void symm__service_close(struct symm__service *service) {
    symm__keyspace_close(service->space);
    service->space = NULL;
}

struct symm__session *symm__service_next_dirty(struct symm__service *service) {
    struct symm__session *session = service->dirty;
    if (!session) return NULL;
    DL_DELETE(service->dirty, session);
    session->is_dirty = 0;
    return session;
}

/* ---- replies ---- */

static void mark_dirty(struct symm__session *session) {
    if (session->is_dirty) return;
    session->is_dirty = 1;
    DL_APPEND(session->service->dirty, session);
}

static void put(struct symm__session *session, const struct symm__frame_header *header,
                const void *payload) {
    char head[SYMM__WIRE_HEADER_SIZE];
    symm__wire_put_header(head, header);
    symm__buffer_append(&session->out, head, sizeof head);
    symm__buffer_append(&session->out, payload, header->length);
    mark_dirty(session);
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

/* ---- requests that wait ---- */

static void drop_request(struct symm__request *request) {
    symm__keyspace_cancel(request->session->service->space, &request->waiter);
    HASH_DEL(request->session->requests, request);
    free(request);
}

static void answer_waiter(struct symm__service *service, struct symm__request *request) {
    struct symm__frame_header header = {0, request->operation, 0, request->id};
    struct symm_slice value = {NULL, 0};
    if (request->operation == SYMM__WIRE_GET) {
        symm__keyspace_find(service->space, (struct symm_slice){request->key, request->key_size},
                            &value);
    }
    reply(request->session, &header, value.data, value.size);
}

static void serve_ready(struct symm__service *service) {
    struct symm__waiter *waiter;
    while ((waiter = symm__keyspace_next_ready(service->space))) {
        struct symm__request *request = (struct symm__request *)waiter;
        answer_waiter(service, request);
        drop_request(request);
    }
}

static struct symm__request *new_request(struct symm__session *session,
                                         const struct symm__frame_header *header,
                                         struct symm_slice key) {
    struct symm__request *request = NULL;
    HASH_FIND(hh, session->requests, &header->id, sizeof header->id, request);
    if (request || HASH_COUNT(session->requests) >= SYMM__SESSION_WAITS) {
        symm__fail(request ? SYMM_ESTORE : SYMM_ELIMIT,
                   request ? "a request with this id waits already"
                           : "too many requests of this connection wait");
        return NULL;
    }
    request = calloc(1, sizeof *request + key.size + 1);
    if (request) {
        request->session = session;
        request->id = header->id;
        request->operation = header->operation;
        request->key_size = key.size;
        if (key.size) memcpy(request->key, key.data, key.size);
        HASH_ADD(hh, session->requests, id, sizeof request->id, request);
        if (request->hh.tbl) return request;
    }
    free(request);
    symm__fail_oom(sizeof *request + key.size);
    return NULL;
}

/* Answers at once if all keys exist, else registers the request. */
static void begin_wait(struct symm__session *session, const struct symm__frame_header *header,
                       const struct symm_slice *keys, size_t count) {
    struct symm_slice key = {NULL, 0};
    if (header->operation == SYMM__WIRE_GET) key = keys[0];
    struct symm__request *request = new_request(session, header, key);
    int rc = request ? symm__keyspace_wait(session->service->space, &request->waiter, keys, count)
                     : SYMM_ESTORE;
    if (rc < 0) reply_error(session, header);
    if (rc > 0) answer_waiter(session->service, request);
    if (request && rc != 0) drop_request(request);
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
    struct symm__request *request = NULL;
    (void)body;
    HASH_FIND(hh, session->requests, &header->id, sizeof header->id, request);
    if (!request) return; /* answered already: the answers crossed */
    struct symm__frame_header answer = {0, request->operation,
                                        SYMM__WIRE_REPLY | SYMM__WIRE_CANCELLED, request->id};
    drop_request(request);
    put(session, &answer, NULL);
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
        serve_ready(session->service);
    }
    return session->out.failed ? symm__fail_oom(session->out.size) : SYMM_OK;
}

/* ---- the handshake ---- */

static void say_hello(struct symm__session *session, uint32_t version) {
    const struct symm__service *service = session->service;
    struct symm__buffer hello = {NULL, 0, 0, 0};
    symm__buffer_u32(&hello, version);
    symm__buffer_u32(&hello, 0);
    symm__buffer_u64(&hello, service->limits.key);
    symm__buffer_u64(&hello, service->limits.value);
    symm__buffer_u64(&hello, service->limits.keys);
    symm__buffer_u64(&hello, service->limits.memory);
    symm__buffer_u64(&hello, service->frame_limit);
    struct symm__frame_header header = {(uint32_t)hello.size, SYMM__WIRE_HELLO, 0, 0};
    put(session, &header, hello.data);
    session->out.failed |= hello.failed;
    symm__buffer_free(&hello);
}

static int greeted(struct symm__session *session) {
    struct symm__cursor cursor = {session->greeting + 6, 4, 0};
    uint32_t nonce = symm__cursor_u32(&cursor), version = nonce & 0xFF;
    if ((nonce & 0xFFFFFF00u) != SYMM__WIRE_NONCE || version == 0) {
        return symm__fail(SYMM_EUNSUPPORTED, "the client speaks the plain protocol");
    }
    if (version > SYMM__WIRE_VERSION) version = SYMM__WIRE_VERSION;
    session->stage = SYMM__SESSION_FRAMES;
    session->service->clients++;
    symm__buffer_u32(&session->out, SYMM__WIRE_ANSWER | version);
    say_hello(session, version);
    return session->out.failed ? symm__fail_oom(SYMM__WIRE_HELLO_SIZE) : SYMM_OK;
}

/* Compares byte by byte, so that a stranger is closed at the first wrong one. */
static int feed_greeting(struct symm__session *session, const char **data, size_t *size) {
    char expected[SYMM__WIRE_GREETING_SIZE];
    symm__wire_greeting(expected);
    while (*size && session->greeting_size < sizeof session->greeting) {
        size_t i = session->greeting_size++;
        session->greeting[i] = **data;
        ++*data;
        --*size;
        if (i < 6 && session->greeting[i] != expected[i]) {
            return symm__fail(SYMM_ESTORE, "a client's first bytes are no store client's");
        }
    }
    return session->greeting_size < sizeof session->greeting ? SYMM_OK : greeted(session);
}

/* ---- sessions ---- */

void symm__session_open(struct symm__service *service, struct symm__session *session) {
    memset(session, 0, sizeof *session);
    session->service = service;
    session->frames.limit = service->frame_limit;
}

static int feed_frame(struct symm__session *session, const char **data, size_t *size) {
    struct symm__frame frame;
    int rc = symm__frames_feed(&session->frames, data, size, &frame);
    if (rc <= 0) return rc;
    rc = run(session, &frame);
    free(frame.owned);
    return rc;
}

int symm__session_feed(struct symm__session *session, const char **data, size_t *size) {
    int rc = SYMM_OK;
    while (rc == SYMM_OK && *size && !symm__session_is_full(session)) {
        rc = session->stage == SYMM__SESSION_GREETING ? feed_greeting(session, data, size)
                                                      : feed_frame(session, data, size);
    }
    return rc;
}

size_t symm__session_room(struct symm__session *session, char **at_out) {
    if (session->stage != SYMM__SESSION_FRAMES) return 0;
    return symm__frames_room(&session->frames, at_out);
}

int symm__session_filled(struct symm__session *session, size_t size) {
    struct symm__frame frame;
    if (!symm__frames_filled(&session->frames, size, &frame)) return SYMM_OK;
    int rc = run(session, &frame);
    free(frame.owned);
    return rc;
}

void symm__session_goodbye(struct symm__session *session) {
    struct symm__frame_header header = {0, SYMM__WIRE_GOODBYE, 0, 0};
    if (session->stage == SYMM__SESSION_FRAMES) put(session, &header, NULL);
}

void symm__session_close(struct symm__session *session) {
    struct symm__service *service = session->service;
    struct symm__request *request, *next;
    HASH_ITER(hh, session->requests, request, next) drop_request(request);
    if (session->is_dirty) DL_DELETE(service->dirty, session);
    if (session->stage != SYMM__SESSION_GREETING) service->clients--;
    if (session->joined && !session->left) service->joined--;
    symm__frames_free(&session->frames);
    symm__buffer_free(&session->out);
}
