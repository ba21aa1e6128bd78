/* SPDX-License-Identifier: MIT
 *
 * A daemon among strangers, and a client before strange daemons: raw sockets on one side, the
 * library on the other.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <symm/error.h>
#include <symm/store.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/daemon.h"
#include "store/socket.h"
#include "store/wire.h"
#include "tests/support/check.h"

enum { PATIENCE_MS = 30000 };

static struct symm_slice s(const char *text) { return symm_slice_of(text); }

/* ---- a daemon, and raw connections to it ---- */

static struct symm__daemon *daemon_here;
static int daemon_port;

static void start_daemon(int64_t greeting_ms) {
    struct symm__daemon_options options = SYMM__DAEMON_OPTIONS_INIT;
    int fd = -1;
    options.greeting_ms = greeting_ms;
    CHECK_OK(symm__socket_listen("127.0.0.1", 0, &fd));
    daemon_port = symm__socket_port(fd);
    CHECK_OK(symm__daemon_open_uv(fd, &options, &daemon_here));
}

static void stop_daemon(void) { daemon_here->ops->close(daemon_here); }

static symm_store *open_client(void) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    symm_store *store = NULL;
    options.port = daemon_port;
    options.timeout_ms = PATIENCE_MS;
    CHECK_OK(symm_store_open_tcp(&options, &store));
    return store;
}

static int connect_raw(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

static void write_raw(int fd, const void *data, size_t size) {
    CHECK_INT(send(fd, data, size, MSG_NOSIGNAL), size);
}

/* 1: the other end closes without having sent anything. */
static int is_closed_unanswered(int fd) {
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    char byte;
    if (poll(&entry, 1, PATIENCE_MS) != 1) return 0;
    ssize_t n = recv(fd, &byte, 1, 0);
    return n == 0 || (n < 0 && errno == ECONNRESET);
}

static void read_exactly(int fd, char *to, size_t size) {
    while (size) {
        struct pollfd entry = {.fd = fd, .events = POLLIN};
        CHECK_INT(poll(&entry, 1, PATIENCE_MS), 1);
        ssize_t n = recv(fd, to, size, 0);
        if (!CHECK(n > 0)) return;
        to += n;
        size -= (size_t)n;
    }
}

static void greet_raw(int fd) {
    char greeting[SYMM__WIRE_GREETING_SIZE],
        hello[4 + SYMM__WIRE_HEADER_SIZE + SYMM__WIRE_HELLO_SIZE];
    symm__wire_greeting(greeting);
    write_raw(fd, greeting, sizeof greeting);
    read_exactly(fd, hello, sizeof hello);
}

/* Asks for "k" in one piece, so that the request is there when this returns. */
static void ask_for_k(int fd) {
    char request[SYMM__WIRE_HEADER_SIZE + 2];
    struct symm__frame_header get = {2, SYMM__WIRE_GET, 0, 1};
    symm__wire_put_header(request, &get);
    memcpy(request + SYMM__WIRE_HEADER_SIZE, "/k", 2);
    write_raw(fd, request, sizeof request);
}

static void check_serves(symm_store *store) {
    int64_t sum;
    CHECK_OK(symm_store_add(store, s("served"), 1, &sum));
}

/* ---- strangers at the daemon ---- */

static void check_closes(symm_store *store, const void *data, size_t size) {
    int fd = connect_raw(daemon_port);
    write_raw(fd, data, size);
    CHECK(is_closed_unanswered(fd));
    close(fd);
    check_serves(store);
}

TEST(wrong_bytes_close_the_connection) {
    static const char http[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static const char tls[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    static const char command[] = "\x01\x02\0\0\0\0\0\0\0/a\x01\0\0\0\0\0\0\0b"; /* a plain SET */
    char random[4096], ones[64];
    start_daemon(600000);
    symm_store *store = open_client();
    REQUIRE(store);
    memset(ones, 0xFF, sizeof ones);
    srand(7);
    for (size_t i = 0; i < sizeof random; i++) random[i] = (char)(rand() >> 7);
    random[0] = 1;
    check_closes(store, http, sizeof http);
    check_closes(store, tls, sizeof tls);
    check_closes(store, command, sizeof command - 1);
    check_closes(store, ones, sizeof ones);
    check_closes(store, random, sizeof random);
    symm_store_release(store);
    stop_daemon();
}

TEST(silent_and_slow_connections_end_with_the_handshakes_time) {
    enum { SILENT = 100 };
    char greeting[SYMM__WIRE_GREETING_SIZE];
    int silent[SILENT];
    start_daemon(300);
    symm_store *store = open_client(); /* is through, and stays */
    REQUIRE(store);
    symm__wire_greeting(greeting);
    for (int i = 0; i < SILENT; i++) {
        silent[i] = connect_raw(daemon_port);
        write_raw(silent[i], greeting, (size_t)i % sizeof greeting); /* some begin */
    }
    check_serves(store);
    for (int i = 0; i < SILENT; i++) {
        CHECK(is_closed_unanswered(silent[i]));
        close(silent[i]);
    }
    check_serves(store);
    symm_store_release(store);
    stop_daemon();
}

TEST(half_a_request_holds_up_nobody) {
    char head[SYMM__WIRE_HEADER_SIZE];
    struct symm__frame_header giant = {UINT32_MAX, SYMM__WIRE_SET, 0, 1};
    struct symm__frame_header half = {1000, SYMM__WIRE_SET, 0, 1};
    start_daemon(5000);
    symm_store *store = open_client();
    REQUIRE(store);
    int fds[3];
    for (int i = 0; i < 3; i++) {
        fds[i] = connect_raw(daemon_port);
        greet_raw(fds[i]);
    }
    symm__wire_put_header(head, &half);
    write_raw(fds[0], head, 7);
    write_raw(fds[1], head, sizeof head);
    write_raw(fds[1], "\4\0\0\0/key", 8);
    symm__wire_put_header(head, &giant);
    write_raw(fds[2], head, sizeof head);
    check_serves(store);
    for (int i = 0; i < 3; i++) close(fds[i]);
    int64_t keys = -1;
    CHECK_OK(symm_store_num_keys(store, &keys));
    CHECK_INT(keys, 1); /* what check_serves counts, and nothing of the halves */
    symm_store_release(store);
    stop_daemon();
}

TEST(a_client_that_dies_while_it_waits_is_forgotten) {
    int left = -1;
    start_daemon(5000);
    symm_store *store = open_client();
    REQUIRE(store);
    for (int i = 0; i < 20; i++) {
        int fd = connect_raw(daemon_port);
        greet_raw(fd);
        ask_for_k(fd);
        close(fd);
    }
    int64_t deadline = INT64_MAX;
    CHECK_INT(symm__attendance_wait_left(&daemon_here->attendance, 1, deadline, &left), 0);
    CHECK_INT(left, 1);
    CHECK_OK(symm_store_set(store, s("k"), s("v")));
    check_serves(store);
    symm_store_release(store);
    stop_daemon();
}

/* Reads the reply with this id, whose value is `size` bytes of `byte`. */
static int reads_reply(int fd, uint64_t id, char *answer, size_t size, char byte) {
    read_exactly(fd, answer, SYMM__WIRE_HEADER_SIZE + size);
    struct symm__cursor cursor = {answer, SYMM__WIRE_HEADER_SIZE, 0};
    int ok = symm__cursor_u32(&cursor) == size;
    symm__cursor_u32(&cursor);
    ok &= symm__cursor_u64(&cursor) == id;
    return ok && answer[SYMM__WIRE_HEADER_SIZE] == byte && answer[15 + size] == byte;
}

/* Asks again and again, more than the daemon reads at once, and reads nothing: the daemon keeps a
 * bounded backlog for it and serves the others. At last it reads, and nothing is missing. */
TEST(a_client_that_does_not_read_holds_up_nobody) {
    enum { SIZE = 16384, ASKED = 15000 };
    struct symm__frame_header get = {2, SYMM__WIRE_GET, 0, 0};
    struct symm__buffer requests = {NULL, 0, 0, 0};
    char head[SYMM__WIRE_HEADER_SIZE], *value = malloc(SIZE + SYMM__WIRE_HEADER_SIZE);
    start_daemon(5000);
    symm_store *store = open_client();
    REQUIRE(store && value);
    memset(value, 'v', SIZE);
    CHECK_OK(symm_store_set(store, s("k"), (struct symm_slice){value, SIZE}));
    int fd = connect_raw(daemon_port), wrong = 0;
    greet_raw(fd);
    for (uint64_t i = 1; i <= ASKED; i++) {
        get.id = i;
        symm__wire_put_header(head, &get);
        symm__buffer_append(&requests, head, sizeof head);
        symm__buffer_append(&requests, "/k", 2);
    }
    write_raw(fd, requests.data, requests.size);
    for (int i = 0; i < 100; i++) check_serves(store);
    for (uint64_t i = 1; i <= ASKED; i++) wrong += !reads_reply(fd, i, value, SIZE, 'v');
    CHECK_INT(wrong, 0);
    close(fd);
    check_serves(store);
    symm__buffer_free(&requests);
    free(value);
    symm_store_release(store);
    stop_daemon();
}

TEST(the_end_does_not_wait_for_a_client_that_does_not_read) {
    enum { LARGE = 32 << 20 };
    char *large = calloc(1, LARGE);
    start_daemon(3600000); /* which would end it at last */
    symm_store *store = open_client();
    REQUIRE(store && large);
    CHECK_OK(symm_store_set(store, s("k"), (struct symm_slice){large, LARGE}));
    int fd = connect_raw(daemon_port);
    greet_raw(fd);
    ask_for_k(fd);
    check_serves(store);
    stop_daemon();
    CHECK_FAILS(symm_store_set(store, s("k"), s("v")), SYMM_ENETWORK, "master has ended");
    symm_store_release(store);
    close(fd);
    free(large);
}

/* ---- strange daemons at the client ---- */

/* Accepts connections on a listening socket one after another and plays `play` on each. */
struct stage {
    pthread_t thread;
    int listen_fd, port, turns;
    void (*play)(int fd, int turn);
};

static void *play_turns(void *context) {
    struct stage *stage = context;
    for (int turn = 0; turn < stage->turns; turn++) {
        struct pollfd entry = {.fd = stage->listen_fd, .events = POLLIN};
        if (!CHECK_INT(poll(&entry, 1, PATIENCE_MS), 1)) break;
        int fd = accept(stage->listen_fd, NULL, NULL);
        if (!CHECK(fd >= 0)) break;
        stage->play(fd, turn);
        close(fd);
    }
    return NULL;
}

static void begin_stage(struct stage *stage, int turns, void (*play)(int fd, int turn)) {
    CHECK_OK(symm__socket_listen("127.0.0.1", 0, &stage->listen_fd));
    stage->port = symm__socket_port(stage->listen_fd);
    stage->turns = turns;
    stage->play = play;
    CHECK_INT(pthread_create(&stage->thread, NULL, play_turns, stage), 0);
}

static void end_stage(struct stage *stage) {
    pthread_join(stage->thread, NULL);
    close(stage->listen_fd);
}

static int open_at(const struct stage *stage, int64_t timeout_ms, symm_store **out) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    options.port = stage->port;
    options.timeout_ms = timeout_ms;
    return symm_store_open_tcp(&options, out);
}

static void read_greeting(int fd) {
    char got[SYMM__WIRE_GREETING_SIZE], want[SYMM__WIRE_GREETING_SIZE];
    read_exactly(fd, got, sizeof got);
    symm__wire_greeting(want);
    CHECK(memcmp(got, want, sizeof got) == 0);
}

static void welcome(int fd) {
    char bytes[4 + SYMM__WIRE_HEADER_SIZE + SYMM__WIRE_HELLO_SIZE] = "";
    struct symm__frame_header hello = {SYMM__WIRE_HELLO_SIZE, SYMM__WIRE_HELLO, 0, 0};
    read_greeting(fd);
    symm__wire_put_u32(bytes, SYMM__WIRE_ANSWER | SYMM__WIRE_VERSION);
    symm__wire_put_header(bytes + 4, &hello);
    for (int i = 0; i < 5; i++) symm__wire_put_u64(bytes + 4 + 16 + 8 + 8 * i, 64 << 20);
    for (size_t i = 0; i < sizeof bytes; i++) write_raw(fd, bytes + i, 1);
}

static struct symm__frame_header read_header(int fd) {
    char head[SYMM__WIRE_HEADER_SIZE];
    struct symm__frame_header header = {0, 0, 0, 0};
    read_exactly(fd, head, sizeof head);
    struct symm__cursor cursor = {head, sizeof head, 0};
    header.length = symm__cursor_u32(&cursor);
    header.operation = (uint16_t)symm__cursor_u32(&cursor);
    header.id = symm__cursor_u64(&cursor);
    return header;
}

static struct symm__frame_header read_request(int fd) {
    char payload[1024];
    struct symm__frame_header header = read_header(fd);
    if (CHECK(header.length <= sizeof payload)) read_exactly(fd, payload, header.length);
    return header;
}

static void answer(int fd, const struct symm__frame_header *request, const char *payload) {
    char head[SYMM__WIRE_HEADER_SIZE];
    struct symm__frame_header header = {(uint32_t)strlen(payload), request->operation,
                                        SYMM__WIRE_REPLY, request->id};
    symm__wire_put_header(head, &header);
    write_raw(fd, head, sizeof head);
    write_raw(fd, payload, strlen(payload));
}

/* Holds the answer back until the client cancels: answer and cancellation cross. */
static void cross(int fd, int turn) {
    (void)turn;
    welcome(fd);
    struct symm__frame_header get = read_request(fd);
    CHECK_INT(get.operation, SYMM__WIRE_GET);
    struct symm__frame_header cancel = read_request(fd);
    CHECK_INT(cancel.operation, SYMM__WIRE_CANCEL);
    CHECK_UINT(cancel.id, get.id);
    answer(fd, &get, "just in time");
    CHECK_INT(read_header(fd).operation, SYMM__WIRE_LEAVE);
}

TEST(an_answer_that_crosses_the_cancellation_is_a_success) {
    struct stage stage;
    symm_store *store = NULL;
    struct symm_bytes value;
    begin_stage(&stage, 1, cross);
    REQUIRE_OK(open_at(&stage, PATIENCE_MS, &store));
    if (CHECK_OK(symm_store_get(store, s("k"), 50, &value))) {
        CHECK_STR(value.data, "just in time");
        symm_bytes_free(&value);
    }
    symm_store_release(store);
    end_stage(&stage);
}

/* Writes much that nobody waits for before it reads the request: the client reads while it writes,
 * else both would stand. */
static void write_before_reading(int fd, int turn) {
    enum { PARTS = 64, PART = 1 << 20 };
    char head[SYMM__WIRE_HEADER_SIZE], *part = calloc(1, PART);
    struct symm__frame_header stale = {PART, SYMM__WIRE_GET, SYMM__WIRE_REPLY, 12345};
    (void)turn;
    welcome(fd);
    symm__wire_put_header(head, &stale);
    for (int i = 0; part && i < PARTS; i++) {
        write_raw(fd, head, sizeof head);
        write_raw(fd, part, PART);
    }
    struct symm__frame_header set = read_header(fd);
    for (size_t left = set.length; part && left; left -= left < PART ? left : PART) {
        read_exactly(fd, part, left < PART ? left : PART);
    }
    answer(fd, &set, "");
    CHECK_INT(read_header(fd).operation, SYMM__WIRE_LEAVE);
    free(part);
}

TEST(a_client_reads_while_it_writes) {
    enum { LARGE = 48 << 20 };
    struct stage stage;
    symm_store *store = NULL;
    char *large = calloc(1, LARGE);
    begin_stage(&stage, 1, write_before_reading);
    REQUIRE(large);
    REQUIRE_OK(open_at(&stage, PATIENCE_MS, &store));
    CHECK_OK(symm_store_set(store, s("k"), (struct symm_slice){large, LARGE}));
    symm_store_release(store);
    end_stage(&stage);
    free(large);
}

/* Answers of another id, a notice of a later version, and only then the answer. */
static void chat(int fd, int turn) {
    char head[SYMM__WIRE_HEADER_SIZE];
    struct symm__frame_header notice = {3, 999, 0, 0};
    (void)turn;
    welcome(fd);
    struct symm__frame_header get = read_request(fd), other = get;
    other.id = get.id + 1000;
    answer(fd, &other, "wrong");
    symm__wire_put_header(head, &notice);
    write_raw(fd, head, sizeof head);
    write_raw(fd, "abc", 3);
    answer(fd, &get, "right");
    CHECK_INT(read_header(fd).operation, SYMM__WIRE_LEAVE);
}

TEST(what_nobody_waits_for_is_passed_over) {
    struct stage stage;
    symm_store *store = NULL;
    struct symm_bytes value;
    begin_stage(&stage, 1, chat);
    REQUIRE_OK(open_at(&stage, PATIENCE_MS, &store));
    if (CHECK_OK(symm_store_get(store, s("k"), 0, &value))) {
        CHECK_STR(value.data, "right");
        symm_bytes_free(&value);
    }
    symm_store_release(store);
    end_stage(&stage);
}

static void cut_short(int fd, int turn) {
    (void)turn;
    welcome(fd);
    struct symm__frame_header add = read_request(fd);
    answer(fd, &add, "1234567");
}

TEST(a_reply_that_is_cut_short_is_an_error) {
    struct stage stage;
    symm_store *store = NULL;
    int64_t sum = 5;
    begin_stage(&stage, 1, cut_short);
    REQUIRE_OK(open_at(&stage, PATIENCE_MS, &store));
    CHECK_FAILS(symm_store_add(store, s("k"), 1, &sum), SYMM_ENETWORK, "cut short");
    CHECK_INT(sum, 5);
    symm_store_release(store);
    end_stage(&stage);
}

/* Resets the first two connections, one before and one after the greeting. */
static void reset_twice(int fd, int turn) {
    struct linger hard = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    if (turn == 1) read_greeting(fd);
    if (turn < 2) return;
    welcome(fd);
    CHECK_INT(read_header(fd).operation, SYMM__WIRE_LEAVE);
}

TEST(a_reset_during_the_handshake_is_tried_again) {
    struct stage stage;
    symm_store *store = NULL;
    begin_stage(&stage, 3, reset_twice);
    CHECK_OK(open_at(&stage, PATIENCE_MS, &store));
    symm_store_release(store);
    end_stage(&stage);
}

static void say_http(int fd, int turn) {
    (void)turn;
    read_greeting(fd);
    write_raw(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
}

TEST(what_is_no_store_is_said_so) {
    struct stage stage;
    symm_store *store = NULL;
    begin_stage(&stage, 1, say_http);
    CHECK_FAILS(open_at(&stage, PATIENCE_MS, &store), SYMM_ENETWORK, "is no store");
    end_stage(&stage);
}

static void echo(int fd, int turn) {
    char nonce[4];
    (void)turn;
    read_greeting(fd);
    symm__wire_put_u32(nonce, SYMM__WIRE_NONCE | SYMM__WIRE_VERSION);
    write_raw(fd, nonce, sizeof nonce);
}

/* In a network whose only free port is the one that is asked for, connecting to it connects the
 * socket to itself. */
TEST(a_socket_that_reaches_itself_reaches_nobody) {
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    symm_store *store = NULL;
    if (unshare(CLONE_NEWNET) != 0) SKIP("only root can make a network of its own");
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK_INT(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
    close(fd);
    FILE *range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "w");
    if (!range) SKIP("the range of local ports cannot be set");
    fprintf(range, "40000 40000");
    if (fclose(range) != 0) SKIP("the range of local ports cannot be set");
    options.port = 40000;
    options.timeout_ms = 100;
    CHECK_FAILS(symm_store_open_tcp(&options, &store), SYMM_ENETWORK, "no store could be reached");
}

TEST(a_daemon_of_the_plain_protocol_is_said_so) {
    struct stage stage;
    symm_store *store = NULL;
    begin_stage(&stage, 1, echo);
    CHECK_FAILS(open_at(&stage, PATIENCE_MS, &store), SYMM_EUNSUPPORTED, "plain protocol");
    end_stage(&stage);
}

static void say_nothing(int fd, int turn) {
    (void)turn;
    read_greeting(fd);
    CHECK(is_closed_unanswered(fd));
}

TEST(a_silent_daemon_ends_opening_by_its_time) {
    struct stage stage;
    symm_store *store = NULL;
    begin_stage(&stage, 1, say_nothing);
    CHECK_FAILS(open_at(&stage, 100, &store), SYMM_ENETWORK, "no answer to the handshake");
    end_stage(&stage);
}
