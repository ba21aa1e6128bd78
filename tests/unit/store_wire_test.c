/* SPDX-License-Identifier: MIT
 *
 * The protocol without sockets: every request in one piece, cut at every byte, and cut off; what
 * strangers send; what malformed requests get.
 */
#include "store/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <symm/error.h>

#include "store/service.h"
#include "tests/support/check.h"

static struct symm__service service;
static struct symm__session session;

static void open_service(void) {
    struct symm__keyspace_limits limits = {64, 1024, 16, 1 << 20};
    CHECK_OK(symm__service_open(&limits, &service));
    symm__session_open(&service, &session);
}

static void close_service(void) {
    symm__session_close(&session);
    CHECK_INT(service.clients, 0);
    CHECK_NULL(service.dirty);
    symm__service_close(&service);
}

/* ---- building requests ---- */

static void put_frame(struct symm__buffer *to, uint16_t operation, uint64_t id, const void *payload,
                      size_t size) {
    char head[SYMM__WIRE_HEADER_SIZE];
    struct symm__frame_header header = {(uint32_t)size, operation, 0, id};
    symm__wire_put_header(head, &header);
    symm__buffer_append(to, head, sizeof head);
    symm__buffer_append(to, payload, size);
}

static void put_greeting(struct symm__buffer *to) {
    char greeting[SYMM__WIRE_GREETING_SIZE];
    symm__wire_greeting(greeting);
    symm__buffer_append(to, greeting, sizeof greeting);
}

static void put_text(struct symm__buffer *to, const char *text) {
    symm__buffer_u32(to, (uint32_t)strlen(text));
    symm__buffer_append(to, text, strlen(text));
}

typedef void put_request(struct symm__buffer *to);

static void put_set(struct symm__buffer *to) {
    struct symm__buffer body = {NULL, 0, 0, 0};
    put_text(&body, "/key");
    symm__buffer_append(&body, "value", 5);
    put_frame(to, SYMM__WIRE_SET, 7, body.data, body.size);
    symm__buffer_free(&body);
}

static void put_add(struct symm__buffer *to) {
    struct symm__buffer body = {NULL, 0, 0, 0};
    symm__buffer_u64(&body, 12);
    symm__buffer_append(&body, "/n", 2);
    put_frame(to, SYMM__WIRE_ADD, 8, body.data, body.size);
    symm__buffer_free(&body);
}

static void put_list(struct symm__buffer *to, uint16_t operation) {
    struct symm__buffer body = {NULL, 0, 0, 0};
    symm__buffer_u32(&body, 2);
    put_text(&body, "/key");
    put_text(&body, "/n");
    put_frame(to, operation, 9, body.data, body.size);
    symm__buffer_free(&body);
}

static void put_wait(struct symm__buffer *to) { put_list(to, SYMM__WIRE_WAIT); }
static void put_check(struct symm__buffer *to) { put_list(to, SYMM__WIRE_CHECK); }
static void put_get(struct symm__buffer *to) { put_frame(to, SYMM__WIRE_GET, 10, "/key", 4); }
static void put_delete(struct symm__buffer *to) { put_frame(to, SYMM__WIRE_DELETE, 11, "/key", 4); }
static void put_num_keys(struct symm__buffer *to) {
    put_frame(to, SYMM__WIRE_NUM_KEYS, 12, "/", 1);
}
static void put_join(struct symm__buffer *to) { put_frame(to, SYMM__WIRE_JOIN, 13, NULL, 0); }
static void put_leave(struct symm__buffer *to) { put_frame(to, SYMM__WIRE_LEAVE, 14, NULL, 0); }
static void put_cancelled_get(struct symm__buffer *to) {
    put_get(to);
    put_frame(to, SYMM__WIRE_CANCEL, 10, NULL, 0);
}

/* ---- running them ---- */

static int feed(const char *data, size_t size) {
    int rc = symm__session_feed(&session, &data, &size);
    if (rc == SYMM_OK) CHECK_UINT(size, 0);
    return rc;
}

static const struct {
    const char *name;
    put_request *put;
} requests[] = {
    {"set", put_set},     {"add", put_add},           {"wait", put_wait},
    {"check", put_check}, {"get", put_get},           {"delete", put_delete},
    {"join", put_join},   {"num_keys", put_num_keys}, {"cancelled get", put_cancelled_get},
    {"leave", put_leave},
};
enum { REQUESTS = sizeof requests / sizeof *requests };

/* Handshake, SET, ADD, the request, SET again, so that all kinds have something to find. */
static struct symm__buffer conversation(put_request *put) {
    struct symm__buffer all = {NULL, 0, 0, 0};
    put_greeting(&all);
    put_set(&all);
    put_add(&all);
    put(&all);
    put_set(&all);
    CHECK(!all.failed);
    return all;
}

static struct symm__buffer take_out(void) {
    struct symm__buffer out = session.out;
    memset(&session.out, 0, sizeof session.out);
    return out;
}

static void check_same(struct symm__buffer *got, const struct symm__buffer *want, const char *name,
                       size_t cut) {
    int same = got->size == want->size && memcmp(got->data, want->data, want->size) == 0;
    if (!CHECK(same)) printf("# %s, cut at byte %zu\n", name, cut);
    symm__buffer_free(got);
}

static void cut_everywhere(const char *name, const struct symm__buffer *all,
                           const struct symm__buffer *want) {
    for (size_t cut = 0; cut <= all->size; cut++) {
        open_service();
        CHECK_OK(feed(all->data, cut));
        CHECK_OK(feed(all->data + cut, all->size - cut));
        struct symm__buffer got = take_out();
        check_same(&got, want, name, cut);
        close_service();
    }
}

static void feed_single_bytes(const char *name, const struct symm__buffer *all,
                              const struct symm__buffer *want) {
    open_service();
    for (size_t i = 0; i < all->size; i++) CHECK_OK(feed(all->data + i, 1));
    struct symm__buffer got = take_out();
    check_same(&got, want, name, 0);
    close_service();
}

TEST(every_request_may_be_cut_anywhere) {
    for (int i = 0; i < REQUESTS; i++) {
        struct symm__buffer all = conversation(requests[i].put);
        open_service();
        CHECK_OK(feed(all.data, all.size));
        struct symm__buffer want = take_out();
        close_service();
        cut_everywhere(requests[i].name, &all, &want);
        feed_single_bytes(requests[i].name, &all, &want);
        symm__buffer_free(&want);
        symm__buffer_free(&all);
    }
}

/* What was not sent to its end has no effect, whatever the cut. */
TEST(a_request_that_is_cut_off_is_not_applied) {
    struct symm__buffer greeting = {NULL, 0, 0, 0}, set = {NULL, 0, 0, 0}, add = {NULL, 0, 0, 0};
    put_greeting(&greeting);
    put_set(&set);
    put_add(&add);
    for (size_t cut = 0; cut < set.size; cut++) {
        open_service();
        CHECK_OK(feed(greeting.data, greeting.size));
        CHECK_OK(feed(set.data, cut));
        CHECK_INT(symm__keyspace_count(service.space, symm_slice_of("")), 0);
        close_service();
    }
    for (size_t cut = 0; cut < add.size; cut++) {
        open_service();
        CHECK_OK(feed(greeting.data, greeting.size));
        CHECK_OK(feed(add.data, cut));
        CHECK_INT(symm__keyspace_count(service.space, symm_slice_of("")), 0);
        close_service();
    }
    symm__buffer_free(&greeting);
    symm__buffer_free(&set);
    symm__buffer_free(&add);
}

/* ---- reading replies ---- */

struct reply {
    uint16_t operation, flags;
    uint64_t id;
    const char *payload;
    uint32_t size;
};

static struct symm__buffer replies;
static struct symm__cursor at;

static void begin_replies(void) {
    symm__buffer_free(&replies);
    replies = take_out();
    at = (struct symm__cursor){replies.data, replies.size, 0};
}

static struct reply next_reply(void) {
    struct reply reply = {0, 0, 0, NULL, 0};
    reply.size = symm__cursor_u32(&at);
    uint32_t word = symm__cursor_u32(&at);
    reply.operation = (uint16_t)word;
    reply.flags = (uint16_t)(word >> 16);
    reply.id = symm__cursor_u64(&at);
    reply.payload = symm__cursor_slice(&at, reply.size).data;
    CHECK(!at.bad);
    return reply;
}

static void check_error(uint16_t operation, uint64_t id, int code, const char *part) {
    char message[512];
    struct reply reply = next_reply();
    CHECK_INT(reply.operation, operation);
    CHECK_INT(reply.flags, SYMM__WIRE_REPLY | SYMM__WIRE_ERROR);
    CHECK_UINT(reply.id, id);
    struct symm__cursor cursor = {reply.payload, reply.size, 0};
    CHECK_INT((int32_t)symm__cursor_u32(&cursor), code);
    snprintf(message, sizeof message, "%.*s", (int)cursor.left, cursor.at);
    CHECK_CONTAINS(message, part);
}

static void greet(void) {
    struct symm__buffer greeting = {NULL, 0, 0, 0};
    put_greeting(&greeting);
    CHECK_OK(feed(greeting.data, greeting.size));
    symm__buffer_free(&greeting);
    begin_replies();
}

TEST(the_handshake_is_answered_with_version_and_limits) {
    open_service();
    greet();
    CHECK_UINT(symm__cursor_u32(&at), 0x4D595300u | 1);
    struct reply hello = next_reply();
    CHECK_INT(hello.operation, SYMM__WIRE_HELLO);
    CHECK_INT(hello.size, SYMM__WIRE_HELLO_SIZE);
    struct symm__cursor limits = {hello.payload, hello.size, 0};
    CHECK_UINT(symm__cursor_u32(&limits), 1);
    CHECK_UINT(symm__cursor_u32(&limits), 0);
    CHECK_UINT(symm__cursor_u64(&limits), 64);
    CHECK_UINT(symm__cursor_u64(&limits), 1024);
    CHECK_UINT(symm__cursor_u64(&limits), 16);
    CHECK_UINT(symm__cursor_u64(&limits), 1 << 20);
    CHECK_UINT(symm__cursor_u64(&limits), service.frame_limit);
    CHECK_UINT(at.left, 0);
    CHECK_INT(service.clients, 1);
    close_service();
}

/* The greeting's bytes on the wire, written out. */
TEST(the_greeting_is_that_of_the_field) {
    static const unsigned char want[] = {0x00, 0xCE, 0xF7, 0x85, 0x3C,
                                         0x0D, 0x01, 0x4D, 0x59, 0x53};
    char greeting[SYMM__WIRE_GREETING_SIZE];
    symm__wire_greeting(greeting);
    CHECK(sizeof want == sizeof greeting && memcmp(greeting, want, sizeof want) == 0);
}

TEST(strangers_are_closed_at_the_first_wrong_byte) {
    static const char http[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    static const char tls[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    char greeting[SYMM__WIRE_GREETING_SIZE], ones[64];
    memset(ones, 0xFF, sizeof ones);
    open_service();
    CHECK_FAILS(feed(http, sizeof http), SYMM_ESTORE, "no store client");
    close_service();
    open_service();
    CHECK_FAILS(feed(tls, sizeof tls), SYMM_ESTORE, "no store client");
    close_service();
    open_service();
    CHECK_FAILS(feed(ones, sizeof ones), SYMM_ESTORE, "no store client");
    close_service();
    for (int wrong = 0; wrong < 6; wrong++) {
        open_service();
        symm__wire_greeting(greeting);
        CHECK_OK(feed(greeting, (size_t)wrong));
        greeting[wrong] ^= 0x40;
        CHECK_FAILS(feed(greeting + wrong, 1), SYMM_ESTORE, "no store client");
        CHECK_UINT(session.out.size, 0);
        close_service();
    }
}

TEST(a_request_before_the_handshake_is_not_served) {
    struct symm__buffer set = {NULL, 0, 0, 0};
    put_set(&set);
    open_service();
    CHECK_OK(feed(set.data, 0));
    CHECK_FAILS(feed(set.data, set.size), SYMM_ESTORE, "no store client");
    CHECK_INT(symm__keyspace_count(service.space, symm_slice_of("")), 0);
    close_service();
    symm__buffer_free(&set);
}

TEST(a_giant_frame_is_refused_and_skipped) {
    char head[SYMM__WIRE_HEADER_SIZE], junk[4096];
    struct symm__frame_header header = {UINT32_MAX, SYMM__WIRE_SET, 0, 5};
    memset(junk, 0xAA, sizeof junk);
    open_service();
    greet();
    symm__wire_put_header(head, &header);
    CHECK_OK(feed(head, sizeof head));
    begin_replies();
    check_error(SYMM__WIRE_SET, 5, SYMM_ELIMIT, "frame limit");
    for (int i = 0; i < 100; i++) CHECK_OK(feed(junk, sizeof junk));
    CHECK_NULL(session.in.frames.payload);
    CHECK_UINT(session.out.size, 0);
    close_service();
}

TEST(after_a_frame_over_the_limit_the_next_is_served) {
    struct symm__buffer stream = {NULL, 0, 0, 0};
    open_service();
    size_t size = service.frame_limit + 1;
    char *body = calloc(1, size);
    put_frame(&stream, SYMM__WIRE_SET, 1, body, size);
    put_add(&stream);
    greet();
    CHECK_OK(feed(stream.data, stream.size));
    begin_replies();
    check_error(SYMM__WIRE_SET, 1, SYMM_ELIMIT, "frame limit");
    CHECK_INT(next_reply().operation, SYMM__WIRE_ADD);
    CHECK_UINT(at.left, 0);
    close_service();
    symm__buffer_free(&stream);
    free(body);
}

TEST(a_begun_payload_takes_no_more_memory_than_arrived) {
    char head[SYMM__WIRE_HEADER_SIZE];
    struct symm__keyspace_limits limits = {64, 64 << 20, 16, 1 << 20};
    struct symm__frame_header header = {60 << 20, SYMM__WIRE_SET, 0, 5};
    CHECK_OK(symm__service_open(&limits, &service));
    symm__session_open(&service, &session);
    greet();
    symm__wire_put_header(head, &header);
    CHECK_OK(feed(head, sizeof head));
    CHECK_OK(feed("abc", 3));
    CHECK(session.in.frames.capacity <= 4096);
    close_service();
}

TEST(malformed_requests_get_an_error_and_the_connection_lives) {
    static const struct {
        uint16_t operation;
        const char *payload;
        size_t size;
    } bad[] = {
        {SYMM__WIRE_SET, "", 0},
        {SYMM__WIRE_SET, "\5\0\0\0/key", 8},
        {SYMM__WIRE_SET, "\xff\xff\xff\xff/key", 8},
        {SYMM__WIRE_ADD, "1234567", 7},
        {SYMM__WIRE_WAIT, "\1\0\0", 3},
        {SYMM__WIRE_WAIT, "\1\0\0\0", 4},
        {SYMM__WIRE_WAIT, "\xff\xff\xff\xff\4\0\0\0/key", 12},
        {SYMM__WIRE_WAIT, "\1\0\0\0\5\0\0\0/key", 12},
        {SYMM__WIRE_CHECK, "\1\0\0\0\3\0\0\0/key", 12},
    };
    open_service();
    greet();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct symm__buffer frame = {NULL, 0, 0, 0};
        put_frame(&frame, bad[i].operation, i, bad[i].payload, bad[i].size);
        CHECK_OK(feed(frame.data, frame.size));
        begin_replies();
        check_error(bad[i].operation, i, SYMM_ESTORE, "malformed");
        symm__buffer_free(&frame);
    }
    CHECK_INT(symm__keyspace_count(service.space, symm_slice_of("")), 0);
    close_service();
}

TEST(unknown_operations_and_flags_get_an_error) {
    struct symm__buffer frame = {NULL, 0, 0, 0};
    open_service();
    greet();
    put_frame(&frame, 999, 3, "abc", 3);
    put_frame(&frame, SYMM__WIRE_HELLO, 4, NULL, 0);
    put_get(&frame);
    frame.data[frame.size - 4 - SYMM__WIRE_HEADER_SIZE + 6] = SYMM__WIRE_REPLY;
    CHECK_OK(feed(frame.data, frame.size));
    begin_replies();
    check_error(999, 3, SYMM_EUNSUPPORTED, "999");
    check_error(SYMM__WIRE_HELLO, 4, SYMM_EUNSUPPORTED, "64");
    check_error(SYMM__WIRE_GET, 10, SYMM_EUNSUPPORTED, "3");
    close_service();
    symm__buffer_free(&frame);
}

TEST(errors_of_the_store_travel_as_replies) {
    struct symm__buffer frames = {NULL, 0, 0, 0};
    open_service();
    greet();
    put_frame(&frames, SYMM__WIRE_SET, 1, "\2\0\0\0/nnot a number", 18);
    put_add(&frames);
    char long_key[4 + 65] = {65};
    put_frame(&frames, SYMM__WIRE_SET, 2, long_key, sizeof long_key);
    put_frame(&frames, SYMM__WIRE_GET, 3, long_key, 65);
    CHECK_OK(feed(frames.data, frames.size));
    begin_replies();
    CHECK_INT(next_reply().flags, SYMM__WIRE_REPLY);
    check_error(SYMM__WIRE_ADD, 8, SYMM_ESTORE, "no counter");
    check_error(SYMM__WIRE_SET, 2, SYMM_ELIMIT, "key limit of 64");
    check_error(SYMM__WIRE_GET, 3, SYMM_ELIMIT, "key limit of 64");
    close_service();
    symm__buffer_free(&frames);
}

/* ---- waits ---- */

TEST(a_wait_is_answered_by_another_session) {
    struct symm__session other;
    struct symm__buffer waits = {NULL, 0, 0, 0}, set = {NULL, 0, 0, 0};
    put_greeting(&set);
    put_set(&set);
    put_get(&waits);
    open_service();
    symm__session_open(&service, &other);
    greet();
    CHECK_OK(feed(waits.data, waits.size));
    while (symm__service_next_dirty(&service)) continue;
    CHECK_UINT(session.out.size, 0);
    const char *data = set.data;
    size_t size = set.size;
    CHECK_OK(symm__session_feed(&other, &data, &size));
    int is_dirty = 0;
    for (struct symm__session *dirty; (dirty = symm__service_next_dirty(&service));) {
        is_dirty |= dirty == &session;
    }
    CHECK(is_dirty);
    begin_replies();
    struct reply reply = next_reply();
    CHECK_INT(reply.operation, SYMM__WIRE_GET);
    CHECK_UINT(reply.id, 10);
    CHECK(reply.size == 5 && memcmp(reply.payload, "value", 5) == 0);
    symm__session_close(&other);
    close_service();
    symm__buffer_free(&waits);
    symm__buffer_free(&set);
}

TEST(a_cancelled_wait_is_answered_once_and_a_second_cancel_not_at_all) {
    struct symm__buffer frames = {NULL, 0, 0, 0};
    open_service();
    greet();
    put_cancelled_get(&frames);
    put_frame(&frames, SYMM__WIRE_CANCEL, 10, NULL, 0);
    put_set(&frames);
    CHECK_OK(feed(frames.data, frames.size));
    begin_replies();
    struct reply reply = next_reply();
    CHECK_INT(reply.operation, SYMM__WIRE_GET);
    CHECK_INT(reply.flags, SYMM__WIRE_REPLY | SYMM__WIRE_CANCELLED);
    CHECK_INT(next_reply().operation, SYMM__WIRE_SET);
    CHECK_UINT(at.left, 0);
    close_service();
    symm__buffer_free(&frames);
}

TEST(an_id_that_waits_cannot_be_used_again) {
    struct symm__buffer frames = {NULL, 0, 0, 0};
    open_service();
    greet();
    put_get(&frames);
    put_get(&frames);
    CHECK_OK(feed(frames.data, frames.size));
    begin_replies();
    check_error(SYMM__WIRE_GET, 10, SYMM_ESTORE, "waits already");
    close_service();
    symm__buffer_free(&frames);
}

TEST(the_keys_that_a_connection_waits_for_are_limited) {
    struct symm__buffer frames = {NULL, 0, 0, 0}, last = {NULL, 0, 0, 0};
    open_service();
    greet();
    for (uint64_t i = 0; i < 16; i++) put_frame(&frames, SYMM__WIRE_GET, 100 + i, "/x", 2);
    put_get(&last);
    CHECK_OK(feed(frames.data, frames.size));
    CHECK_UINT(session.out.size, 0);
    CHECK_OK(feed(last.data, last.size));
    begin_replies();
    check_error(SYMM__WIRE_GET, 10, SYMM_ELIMIT, "waits for 16 keys");
    last.size = 0;
    put_frame(&last, SYMM__WIRE_CANCEL, 100, NULL, 0);
    put_get(&last);
    CHECK_OK(feed(last.data, last.size));
    begin_replies();
    CHECK_INT(next_reply().flags, SYMM__WIRE_REPLY | SYMM__WIRE_CANCELLED);
    CHECK_UINT(at.left, 0); /* there is room for one again */
    close_service();
    symm__buffer_free(&frames);
    symm__buffer_free(&last);
}

TEST(a_session_that_goes_takes_its_waits_along) {
    struct symm__session other;
    struct symm__buffer waits = {NULL, 0, 0, 0}, set = {NULL, 0, 0, 0};
    put_greeting(&waits);
    put_get(&waits);
    put_wait(&waits);
    put_set(&set);
    open_service();
    symm__session_open(&service, &other);
    const char *data = waits.data;
    size_t size = waits.size;
    CHECK_OK(symm__session_feed(&other, &data, &size));
    CHECK_INT(service.clients, 1);
    symm__session_close(&other);
    CHECK_INT(service.clients, 0);
    greet();
    CHECK_OK(feed(set.data, set.size));
    CHECK_NULL(symm__keyspace_next_ready(service.space));
    close_service();
    symm__buffer_free(&waits);
    symm__buffer_free(&set);
}

TEST(a_full_backlog_stops_a_session_until_it_is_sent) {
    enum { MANY = 2000 };
    struct symm__buffer frames = {NULL, 0, 0, 0};
    char body[4 + 4 + 1000] = {4, 0, 0, 0, '/', 'k', 'e', 'y'};
    open_service();
    greet();
    put_frame(&frames, SYMM__WIRE_SET, 1, body, sizeof body);
    for (int i = 0; i < MANY; i++) put_get(&frames);
    const char *data = frames.data;
    size_t size = frames.size, total = 0, turns = 0;
    while (size && turns++ < 100) {
        CHECK_OK(symm__session_feed(&session, &data, &size));
        CHECK(session.out.size < SYMM__SESSION_BACKLOG + 2000);
        total += session.out.size;
        begin_replies(); /* the daemon takes and sends it */
    }
    CHECK(turns > 1);
    CHECK_UINT(total, SYMM__WIRE_HEADER_SIZE + MANY * (SYMM__WIRE_HEADER_SIZE + 1000));
    close_service();
    symm__buffer_free(&frames);
}

TEST(a_worker_counts_once_and_until_it_breaks_off) {
    struct symm__buffer joins = {NULL, 0, 0, 0}, leave = {NULL, 0, 0, 0};
    put_join(&joins);
    put_join(&joins);
    put_leave(&leave);
    open_service();
    greet();
    CHECK_OK(feed(joins.data, joins.size));
    CHECK_INT(service.joined, 1);
    symm__session_close(&session);
    CHECK_INT(service.joined, 0);
    symm__session_open(&service, &session);
    greet();
    CHECK_OK(feed(joins.data, joins.size));
    CHECK_OK(feed(leave.data, leave.size));
    symm__session_close(&session);
    CHECK_INT(service.joined, 1); /* it has been there, and left in order */
    symm__session_open(&service, &session);
    close_service();
    symm__buffer_free(&joins);
    symm__buffer_free(&leave);
}
