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
    size_t key_count;
    size_t key_size; /* of the first key */
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

int symm__session_touch(struct symm__session *session) {
    if (!session->is_dirty) {
        session->is_dirty = 1;
        DL_APPEND(session->service->dirty, session);
    }
    if (session->out.failed) return symm__fail_oom(session->out.size);
    if (session->out.size + session->unsent <= SYMM__SESSION_OWED_MAX) return SYMM_OK;
    symm__buffer_free(&session->out);
    session->out.failed = 1;
    return symm__fail(SYMM_ELIMIT, "a client does not read its replies");
}

/* ---- requests that wait ---- */

static void drop_request(struct symm__request *request) {
    symm__keyspace_cancel(request->session->service->space, &request->waiter);
    request->session->waited_keys -= request->key_count;
    HASH_DEL(request->session->requests, request);
    free(request);
}

void symm__service_answer_ready(struct symm__service *service) {
    struct symm__waiter *waiter;
    while ((waiter = symm__keyspace_next_ready(service->space))) {
        struct symm__request *request = (struct symm__request *)waiter;
        struct symm_slice key = {request->key, request->key_size};
        if (request->session->stage == SYMM__SESSION_FRAMES) {
            symm__session_answer_frame(request->session, request->operation, request->id, key);
        } else {
            symm__session_answer_plain(request->session);
        }
        drop_request(request);
    }
}

static struct symm__request *find_request(struct symm__session *session, uint64_t id) {
    struct symm__request *request = NULL;
    HASH_FIND(hh, session->requests, &id, sizeof id, request);
    return request;
}

static struct symm__request *new_request(struct symm__session *session, uint16_t operation,
                                         uint64_t id, struct symm_slice key, size_t key_count) {
    struct symm__request *request = calloc(1, sizeof *request + key.size + 1);
    if (request) {
        request->session = session;
        request->id = id;
        request->operation = operation;
        request->key_count = key_count;
        request->key_size = key.size;
        if (key.size) memcpy(request->key, key.data, key.size);
        HASH_ADD(hh, session->requests, id, sizeof request->id, request);
        if (request->hh.tbl) {
            session->waited_keys += key_count;
            return request;
        }
    }
    free(request);
    symm__fail_oom(sizeof *request + key.size);
    return NULL;
}

static int check_wait(const struct symm__session *session, size_t count) {
    size_t limit = session->service->limits.keys;
    if (count > limit) {
        return symm__fail(SYMM_ELIMIT, "%zu keys in one request are over the store's limit of %zu",
                          count, limit);
    }
    if (count <= limit - session->waited_keys) return SYMM_OK;
    return symm__fail(SYMM_ELIMIT, "this connection waits for %zu keys; the store's limit is %zu",
                      session->waited_keys, limit);
}

int symm__session_wait(struct symm__session *session, uint16_t operation, uint64_t id,
                       const struct symm_slice *keys, size_t count) {
    struct symm__keyspace *space = session->service->space;
    int rc = check_wait(session, count);
    if (rc < 0) return rc;
    if (symm__keyspace_has_all(space, keys, count)) return 1;
    if (find_request(session, id)) {
        return symm__fail(SYMM_ESTORE, "a request with this id waits already");
    }
    struct symm__request *request = new_request(session, operation, id, keys[0], count);
    if (!request) return SYMM_EOOM;
    rc = symm__keyspace_wait(space, &request->waiter, keys, count);
    if (rc < 0) drop_request(request);
    return rc;
}

int symm__session_cancel(struct symm__session *session, uint64_t id, uint16_t *operation_out) {
    struct symm__request *request = find_request(session, id);
    if (!request) return 0;
    *operation_out = request->operation;
    drop_request(request);
    return 1;
}

/* ---- the handshake ---- */

static int greeted(struct symm__session *session) {
    struct symm__cursor cursor = {session->greeting + 6, 4, 0};
    uint32_t nonce = symm__cursor_u32(&cursor), version = nonce & 0xFF;
    session->service->clients++;
    if ((nonce & 0xFFFFFF00u) == SYMM__WIRE_NONCE && version > 0) {
        session->stage = SYMM__SESSION_FRAMES;
        session->in.frames.limit = session->service->frame_limit;
        symm__session_hello(session, version < SYMM__WIRE_VERSION ? version : SYMM__WIRE_VERSION);
    } else {
        session->stage = SYMM__SESSION_PLAIN;
        symm__plain_init(&session->in.plain, &session->service->limits);
        symm__buffer_u32(&session->out, nonce);
    }
    return symm__session_touch(session);
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
}

static int feed_some(struct symm__session *session, const char **data, size_t *size) {
    switch (session->stage) {
    case SYMM__SESSION_FRAMES: return symm__session_feed_frame(session, data, size);
    case SYMM__SESSION_PLAIN: return symm__session_feed_plain(session, data, size);
    default: return feed_greeting(session, data, size);
    }
}

int symm__session_feed(struct symm__session *session, const char **data, size_t *size) {
    int rc = SYMM_OK;
    while (rc == SYMM_OK && *size && !symm__session_is_full(session)) {
        rc = feed_some(session, data, size);
    }
    return rc;
}

void symm__session_close(struct symm__session *session) {
    struct symm__service *service = session->service;
    struct symm__request *request, *next;
    HASH_ITER(hh, session->requests, request, next) drop_request(request);
    if (session->is_dirty) DL_DELETE(service->dirty, session);
    if (session->stage != SYMM__SESSION_GREETING) service->clients--;
    if (session->joined && !session->left) service->joined--;
    if (session->stage == SYMM__SESSION_FRAMES) symm__frames_free(&session->in.frames);
    if (session->stage == SYMM__SESSION_PLAIN) symm__plain_free(&session->in.plain);
    symm__buffer_free(&session->out);
}
