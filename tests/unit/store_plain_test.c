/* SPDX-License-Identifier: MIT
 *
 * PyTorch's protocol at our daemon, byte by byte: what its client sends and takes. The byte strings
 * are written out here, not built by the library.
 */
#include "store/plain.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <symm/error.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/service.h"
#include "tests/support/check.h"

struct bytes {
    const char *data;
    size_t size;
};
#define B(text) ((struct bytes){text, sizeof(text) - 1})

#define HELLO "\x00\xCE\xF7\x85\x3C\x0D\x15\xCD\x5B\x07" /* VALIDATE, PING with a pid */
#define HELLO_ANSWER "\x15\xCD\x5B\x07"
#define U64_1 "\1\0\0\0\0\0\0\0"
#define U64_2 "\2\0\0\0\0\0\0\0"
#define U64_3 "\3\0\0\0\0\0\0\0"
#define K U64_2 "/k"
#define L U64_2 "/l"
#define VV U64_2 "vv"

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
    symm__service_close(&service);
}

static int feed(struct bytes bytes) {
    const char *data = bytes.data;
    size_t size = bytes.size;
    int rc = symm__session_feed(&session, &data, &size);
    if (rc == SYMM_OK) CHECK_UINT(size, 0);
    return rc;
}

static void check_out(const char *name, struct bytes want) {
    struct symm__buffer *out = &session.out;
    int same =
        out->size == want.size && (!want.size || memcmp(out->data, want.data, want.size) == 0);
    if (!CHECK(same)) printf("# %s: %zu bytes came, %zu were wanted\n", name, out->size, want.size);
    out->size = 0;
}

/* Each on a connection of its own that has sent `before` after its handshake. */
static const struct {
    const char *name;
    struct bytes before, sent, answer;
} exchanges[] = {
    {"set", B(""), B("\x01" K VV), B("")},
    {"compare_set, absent and nothing expected", B(""), B("\x02" K "\0\0\0\0\0\0\0\0" VV), B(VV)},
    {"compare_set, absent and something expected", B(""), B("\x02" K U64_1 "x" VV), B(U64_1 "x")},
    {"compare_set, equal", B("\x01" K U64_1 "x"), B("\x02" K U64_1 "x" VV), B(VV)},
    {"compare_set, different", B("\x01" K U64_1 "y"), B("\x02" K U64_1 "x" VV), B(U64_1 "y")},
    {"get", B("\x01" K VV), B("\x03" K), B(VV)},
    {"get, absent", B(""), B("\x03" K), B("\0\0\0\0\0\0\0\0")},
    {"add", B("\x01" K U64_1 "7"), B("\x04" K "\xFD\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
     B("\4\0\0\0\0\0\0\0")},
    {"check, there", B("\x01" K VV), B("\x05" U64_1 K), B("\0")},
    {"check, not there", B("\x01" K VV), B("\x05" U64_2 K L), B("\1")},
    {"check of nothing", B(""), B("\x05\0\0\0\0\0\0\0\0"), B("\0")},
    {"wait, there", B("\x01" K VV), B("\x06" U64_1 K), B("\0")},
    {"wait and cancel", B(""), B("\x06" U64_1 K "\x0C"), B("\1")},
    {"wait, answered, and cancel", B("\x01" K VV), B("\x06" U64_1 K "\x0C"), B("\0\1")},
    {"num_keys", B("\x01" K VV "\x01" L VV), B("\x07"), B(U64_2)},
    {"delete, there", B("\x01" K VV), B("\x08" K), B(U64_1)},
    {"delete, not there", B(""), B("\x08" K), B("\0\0\0\0\0\0\0\0")},
    {"append", B("\x01" K U64_1 "a"), B("\x09" K VV "\x03" K), B(U64_3 "avv")},
    {"append, absent", B(""), B("\x09" K VV "\x03" K), B(VV)},
    {"multi_get", B("\x01" K VV "\x01" L U64_1 "w"), B("\x0A" U64_2 K L), B(VV U64_1 "w")},
    {"multi_set", B(""), B("\x0B" U64_2 K VV L U64_1 "w\x03" L), B(U64_1 "w")},
    {"cancel without a wait", B(""), B("\x0C"), B("\1")},
    {"ping", B(""), B("\x0D\x01\x02\x03\x04"), B("\x01\x02\x03\x04")},
};
enum { EXCHANGES = sizeof exchanges / sizeof *exchanges };

static void begin(int i) {
    open_service();
    CHECK_OK(feed(B(HELLO)));
    check_out("handshake", B(HELLO_ANSWER));
    CHECK_OK(feed(exchanges[i].before));
    check_out(exchanges[i].name, B(""));
}

TEST(each_request_has_its_answer) {
    for (int i = 0; i < EXCHANGES; i++) {
        begin(i);
        CHECK_OK(feed(exchanges[i].sent));
        check_out(exchanges[i].name, exchanges[i].answer);
        close_service();
    }
}

TEST(each_request_may_be_cut_anywhere) {
    for (int i = 0; i < EXCHANGES; i++) {
        struct bytes sent = exchanges[i].sent;
        for (size_t cut = 0; cut <= sent.size; cut++) {
            begin(i);
            CHECK_OK(feed((struct bytes){sent.data, cut}));
            CHECK_OK(feed((struct bytes){sent.data + cut, sent.size - cut}));
            check_out(exchanges[i].name, exchanges[i].answer);
            close_service();
        }
    }
}

TEST(single_bytes_do_as_well) {
    for (int i = 0; i < EXCHANGES; i++) {
        open_service();
        for (size_t b = 0; b < sizeof HELLO - 1; b++) CHECK_OK(feed((struct bytes){&HELLO[b], 1}));
        check_out("handshake", B(HELLO_ANSWER));
        CHECK_OK(feed(exchanges[i].before));
        for (size_t b = 0; b < exchanges[i].sent.size; b++) {
            CHECK_OK(feed((struct bytes){exchanges[i].sent.data + b, 1}));
        }
        check_out(exchanges[i].name, exchanges[i].answer);
        close_service();
    }
}

/* A multi_set that is cut off has set nothing, not even its first pair. */
TEST(what_is_cut_off_is_not_applied) {
    struct bytes all = B("\x0B" U64_2 K VV L VV);
    for (size_t cut = 0; cut < all.size; cut++) {
        open_service();
        CHECK_OK(feed(B(HELLO)));
        CHECK_OK(feed((struct bytes){all.data, cut}));
        CHECK_INT(symm__keyspace_count(service.space, symm_slice_of("")), 0);
        close_service();
    }
}

static void check_closes(struct bytes sent, int code, const char *part) {
    open_service();
    CHECK_OK(feed(B(HELLO)));
    session.out.size = 0;
    CHECK_FAILS(feed(sent), code, part);
    CHECK_UINT(session.out.size, 0);
    close_service();
}

TEST(what_cannot_be_served_closes) {
    check_closes(B("\x00\xCE\xF7\x85\x3C"), SYMM_EUNSUPPORTED, "operation 0");
    check_closes(B("\xFF"), SYMM_EUNSUPPORTED, "operation 255");
    check_closes(B("\x01" K U64_1 "x\x04" K U64_1), SYMM_ESTORE, "no counter");
    check_closes(B("\x06" U64_1 K "\x06" U64_1 K), SYMM_ESTORE, "waits already");
}

TEST(limits_close) {
    check_closes(B("\x03\x41\0\0\0\0\0\0\0"), SYMM_ELIMIT, "key of 65 bytes");
    check_closes(B("\x03\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), SYMM_ELIMIT,
                 "key of 18446744073709551615");
    check_closes(B("\x01" K "\x01\x04\0\0\0\0\0\0"), SYMM_ELIMIT, "value of 1025 bytes");
    check_closes(B("\x06\x11\0\0\0\0\0\0\0"), SYMM_ELIMIT, "17 keys");
    check_closes(B("\x0B\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), SYMM_ELIMIT, "keys in one request");
    open_service();
    CHECK_OK(feed(B(HELLO "\x03\x40\0\0\0\0\0\0\0"))); /* at the edge: they wait for the rest */
    close_service();
    open_service();
    CHECK_OK(feed(B(HELLO "\x01" K "\x00\x04\0\0\0\0\0\0")));
    close_service();
    open_service();
    CHECK_OK(feed(B(HELLO "\x06\x10\0\0\0\0\0\0\0")));
    close_service();
}

TEST(a_request_is_limited_as_a_whole) {
    static char value[1024];
    open_service();
    CHECK_OK(feed(B(HELLO "\x0B\x10\0\0\0\0\0\0\0")));
    int rc = SYMM_OK, pairs = 0;
    while (rc == SYMM_OK && pairs++ < 16) {
        rc = feed(B(K "\x00\x04\0\0\0\0\0\0"));
        if (rc == SYMM_OK) rc = feed((struct bytes){value, sizeof value});
    }
    CHECK_INT(rc, SYMM_ELIMIT);
    CHECK_INT(pairs, 3);
    close_service();
}

TEST(a_wait_is_answered_when_its_keys_are_there) {
    open_service();
    CHECK_OK(feed(B(HELLO "\x06" U64_2 K L)));
    session.out.size = 0;
    CHECK_OK(symm__keyspace_set(service.space, symm_slice_of("/k"), symm_slice_of("1")));
    symm__service_answer_ready(&service);
    CHECK_UINT(session.out.size, 0);
    CHECK_OK(symm__keyspace_set(service.space, symm_slice_of("/l"), symm_slice_of("2")));
    symm__service_answer_ready(&service);
    check_out("wait", B("\0"));
    CHECK(symm__service_next_dirty(&service) == &session);
    close_service();
}

TEST(a_worker_that_counts_itself_has_joined) {
    open_service();
    CHECK_OK(feed(B(HELLO "\x04\5\0\0\0\0\0\0\0init/" U64_1)));
    CHECK_INT(service.joined, 1);
    CHECK_INT(symm__keyspace_count(service.space, symm_slice_of("/")), 0); /* not a user's key */
    CHECK_INT(symm__keyspace_count(service.space, symm_slice_of("")), 1);
    CHECK_OK(feed(B("\x04" K U64_1)));
    CHECK_INT(service.joined, 1);
    symm__session_close(&session);
    CHECK_INT(service.joined, 1); /* this protocol has no goodbye */
    symm__session_open(&service, &session);
    close_service();
}

/* ---- beside our own clients ---- */

static void exchange_raw(int fd, struct bytes sent, struct bytes want) {
    char got[64] = "";
    size_t have = 0;
    CHECK_INT(send(fd, sent.data, sent.size, MSG_NOSIGNAL), sent.size);
    while (have < want.size) {
        struct pollfd entry = {.fd = fd, .events = POLLIN};
        ssize_t n = poll(&entry, 1, 30000) == 1 ? recv(fd, got + have, want.size - have, 0) : -1;
        if (!CHECK(n > 0)) return;
        have += (size_t)n;
    }
    CHECK(memcmp(got, want.data, want.size) == 0);
}

static int connect_plain(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    exchange_raw(fd, B(HELLO), B(HELLO_ANSWER));
    return fd;
}

TEST(both_protocols_see_the_same_keys) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    symm_store *store = NULL;
    struct symm_bytes value;
    options.port = 0;
    options.is_master = 1;
    REQUIRE_OK(symm_store_open_tcp(&options, &store));
    int fd = connect_plain(symm_store_port(store));
    exchange_raw(fd, B("\x06" U64_1 K), B("")); /* waits ... */
    CHECK_OK(symm_store_set(store, symm_slice_of("k"), symm_slice_of("ours")));
    exchange_raw(fd, B(""), B("\0")); /* ... and is woken */
    exchange_raw(fd, B("\x03" K), B("\4\0\0\0\0\0\0\0ours"));
    exchange_raw(fd,
                 B("\x01" L VV "\x0D"
                   "1234"),
                 B("1234"));
    CHECK_OK(symm_store_get(store, symm_slice_of("l"), 0, &value));
    CHECK_STR(value.data, "vv");
    symm_bytes_free(&value);
    close(fd);
    CHECK_OK(symm_store_linger(store, 30000));
    symm_store_release(store);
}

static void *join_plain(void *context) {
    int fd = connect_plain(*(int *)context);
    exchange_raw(fd, B("\x04\5\0\0\0\0\0\0\0init/" U64_1), B(U64_1));
    close(fd);
    return NULL;
}

TEST(a_master_counts_plain_workers) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    symm_store *store = NULL;
    pthread_t thread;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 5) == 0);
    getsockname(fd, (struct sockaddr *)&address, &size);
    int port = ntohs(address.sin_port);
    options.listen_fd = fd;
    options.port = port;
    options.is_master = 1;
    options.world_size = 2;
    REQUIRE(pthread_create(&thread, NULL, join_plain, &port) == 0);
    CHECK_OK(symm_store_open_tcp(&options, &store));
    pthread_join(thread, NULL);
    symm_store_release(store);
}
