/* SPDX-License-Identifier: MIT
 *
 * The tcp store's life: opening, joining, lingering, ending.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <symm/error.h>
#include <symm/store.h>
#include <symm/wait.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/check.h"

static struct symm_slice s(const char *text) { return symm_slice_of(text); }

static struct symm_tcp_store_options master_options(void) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    options.port = 0;
    options.is_master = 1;
    options.timeout_ms = 20000;
    return options;
}

static symm_store *open_master(void) {
    struct symm_tcp_store_options options = master_options();
    symm_store *store = NULL;
    CHECK_OK(symm_store_open_tcp(&options, &store));
    return store;
}

static int open_client(int port, symm_store **out) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    options.port = port;
    options.timeout_ms = 20000;
    return symm_store_open_tcp(&options, out);
}

/* A socket bound to a port of the kernel's choice. */
static int bound_socket(int type, int *port_out) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    getsockname(fd, (struct sockaddr *)&address, &size);
    *port_out = ntohs(address.sin_port);
    return fd;
}

static int is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

/* ---- options ---- */

static void check_refused(const struct symm_tcp_store_options *options, const char *part) {
    symm_store *store = NULL;
    CHECK_FAILS(symm_store_open_tcp(options, &store), SYMM_EINVALID, part);
    CHECK_NULL(store);
}

TEST(wrong_options_are_named) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    check_refused(NULL, "SYMM_TCP_STORE_OPTIONS_INIT");
    options.size--;
    check_refused(&options, "symm_tcp_store_options.size");
    options = (struct symm_tcp_store_options)SYMM_TCP_STORE_OPTIONS_INIT;
    options.port = 65536;
    check_refused(&options, "65536");
    options.port = -1;
    check_refused(&options, "-1");
    options.port = 0;
    check_refused(&options, "not 0");
    options.port = 1;
    options.world_size = 0;
    check_refused(&options, "world_size");
    options.world_size = -2;
    check_refused(&options, "world_size");
    options.world_size = 1;
    options.timeout_ms = -2;
    check_refused(&options, "timeout_ms");
    options.timeout_ms = 0;
    options.listen_fd = 0;
    check_refused(&options, "listen_fd is for the master");
    options.listen_fd = -1;
    options.host = NULL;
    check_refused(&options, "host");
    options.host = "";
    check_refused(&options, "host");
    options.host = "@";
    check_refused(&options, "@");
}

TEST(a_store_tells_what_it_is) {
    char text[200], want[200];
    symm_store *master = open_master(), *prefix = NULL;
    REQUIRE(master);
    CHECK_STR(symm_store_kind(master), "tcp");
    CHECK(symm_store_port(master) > 0);
    CHECK_INT(symm_store_timeout(master), 20000);
    snprintf(want, sizeof want, "tcp store 127.0.0.1:%d", symm_store_port(master));
    symm_store_describe(master, text, sizeof text);
    CHECK_STR(text, want);
    symm_store_describe(master, text, 4);
    CHECK_STR(text, "tcp");
    CHECK_OK(symm_store_open_prefix(s("a\n"), master, &prefix));
    CHECK_INT(symm_store_port(prefix), symm_store_port(master));
    symm_store_describe(prefix, text, sizeof text);
    snprintf(want, sizeof want, "prefix store 'a\\x0a' over tcp store 127.0.0.1:%d",
             symm_store_port(master));
    CHECK_STR(text, want);
    CHECK_OK(symm_store_set_timeout(prefix, 7000)); /* is the store's below */
    CHECK_INT(symm_store_timeout(master), 7000);
    symm_store_release(prefix);
    symm_store_release(master);
}

/* ---- addresses ---- */

static void reach(const char *listen_host, const char *client_host) {
    struct symm_tcp_store_options options = master_options();
    symm_store *master = NULL, *client = NULL;
    struct symm_bytes value;
    printf("# %s from %s\n", listen_host, client_host);
    options.host = listen_host;
    REQUIRE_OK(symm_store_open_tcp(&options, &master));
    options.is_master = 0;
    options.host = client_host;
    options.port = symm_store_port(master) < 0 ? 0 : symm_store_port(master);
    if (CHECK_OK(symm_store_open_tcp(&options, &client))) {
        CHECK_OK(symm_store_set(client, s("k"), s(client_host)));
        CHECK_OK(symm_store_get(master, s("k"), 0, &value));
        CHECK_STR(value.data, client_host);
        symm_bytes_free(&value);
    }
    symm_store_release(client);
    symm_store_release(master);
}

static int has_ipv6(void) {
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    int ok = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0) close(fd);
    return ok;
}

TEST(addresses_of_ipv4) {
    reach("127.0.0.1", "127.0.0.1");
    reach("127.0.0.1", "localhost");
    reach("localhost", "localhost");
    reach("", "127.0.0.1");
    reach("*", "127.0.0.2");
    reach("0.0.0.0", "127.0.0.1");
    reach("no-name-of-this-host", "127.0.0.1"); /* a name listens everywhere */
    reach("192.0.2.1", "127.0.0.1");            /* so does an address that is not ours */
}

TEST(addresses_of_ipv6) {
    if (!has_ipv6()) SKIP("this machine has no IPv6");
    reach("::1", "::1");
    reach("::", "::1");
    reach("::", "127.0.0.1");
}

TEST(an_address_of_the_loopback_is_only_there) {
    struct symm_tcp_store_options options = master_options();
    symm_store *master = NULL, *client = NULL;
    REQUIRE_OK(symm_store_open_tcp(&options, &master));
    options.is_master = 0;
    options.host = "127.0.0.2";
    options.port = symm_store_port(master);
    options.timeout_ms = 100;
    CHECK_FAILS(symm_store_open_tcp(&options, &client), SYMM_ENETWORK, "refused");
    symm_store_release(master);
}

TEST(abstract_sockets) {
    char name[64];
    snprintf(name, sizeof name, "@store-tcp-test-%d", (int)getpid());
    reach(name, name);
}

TEST(the_longest_abstract_name) {
    char name[120];
    memset(name, 'x', sizeof name);
    name[0] = '@';
    name[108] = '\0';
    snprintf(name + 80, 20, "%d", (int)getpid());
    name[strlen(name)] = 'x';
    CHECK_UINT(strlen(name), 108);
    reach(name, name);
    struct symm_tcp_store_options options = master_options();
    memset(name, 'x', sizeof name);
    name[0] = '@';
    name[109] = '\0';
    options.host = name;
    check_refused(&options, "107 bytes");
}

/* ---- connecting ---- */

TEST(a_store_that_is_not_there_names_host_port_and_time) {
    int port;
    symm_store *store = NULL;
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    char want[64];
    int fd = bound_socket(SOCK_STREAM, &port); /* bound, but does not listen */
    options.port = port;
    options.timeout_ms = 150;
    int64_t before = symm_now_ns();
    snprintf(want, sizeof want, "127.0.0.1:%d within 1", port);
    CHECK_FAILS(symm_store_open_tcp(&options, &store), SYMM_ENETWORK, want);
    CHECK_CONTAINS(symm_last_error()->message, "refused");
    CHECK(symm_now_ns() - before >= 150 * 1000000);
    options.host = "@store-tcp-test-nobody";
    CHECK_FAILS(symm_store_open_tcp(&options, &store), SYMM_ENETWORK,
                "@store-tcp-test-nobody within");
    options.host = "name.invalid";
    CHECK_FAILS(symm_store_open_tcp(&options, &store), SYMM_ENETWORK, "name.invalid");
    close(fd);
}

static int end_wait(void *context) {
    (void)context;
    return SYMM_EINTERRUPTED;
}

TEST(the_wait_hook_ends_connecting) {
    int port;
    symm_store *store = NULL;
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    int fd = bound_socket(SOCK_STREAM, &port);
    options.port = port;
    symm_set_wait_hook(end_wait, NULL, NULL, NULL);
    CHECK_FAILS(symm_store_open_tcp(&options, &store), SYMM_EINTERRUPTED, "interrupted");
    symm_set_wait_hook(NULL, NULL, NULL, NULL);
    close(fd);
}

struct later {
    pthread_t thread;
    int port;
    symm_store *store;
};

static void *open_later(void *context) {
    struct later *later = context;
    struct timespec pause = {0, 200000000};
    struct symm_tcp_store_options options = master_options();
    options.port = later->port;
    nanosleep(&pause, NULL);
    CHECK_OK(symm_store_open_tcp(&options, &later->store));
    return NULL;
}

TEST(a_client_waits_for_a_store_that_comes_later) {
    struct later later = {.store = NULL};
    symm_store *client = NULL, *master = open_master(); /* to find a free port */
    REQUIRE(master);
    later.port = symm_store_port(master);
    symm_store_release(master);
    REQUIRE(pthread_create(&later.thread, NULL, open_later, &later) == 0);
    if (CHECK_OK(open_client(later.port, &client))) {
        CHECK_OK(symm_store_set(client, s("k"), s("v")));
    }
    pthread_join(later.thread, NULL);
    symm_store_release(client);
    symm_store_release(later.store);
}

TEST(a_port_in_use_is_named) {
    char want[64], name[64];
    symm_store *first = open_master(), *second = NULL;
    struct symm_tcp_store_options options = master_options();
    REQUIRE(first);
    options.port = symm_store_port(first);
    snprintf(want, sizeof want, "port %d is in use", options.port);
    CHECK_FAILS(symm_store_open_tcp(&options, &second), SYMM_ENETWORK, want);
    CHECK_CONTAINS(symm_last_error()->message, "another job");
    options.host = "*";
    CHECK_FAILS(symm_store_open_tcp(&options, &second), SYMM_ENETWORK, want);
    symm_store_release(first);
    options.host = "127.0.0.1";
    CHECK_OK(symm_store_open_tcp(&options, &second)); /* free again at once */
    symm_store_release(second);
    snprintf(name, sizeof name, "@store-tcp-test-in-use-%d", (int)getpid());
    options.host = name;
    REQUIRE_OK(symm_store_open_tcp(&options, &first));
    CHECK_FAILS(symm_store_open_tcp(&options, &second), SYMM_ENETWORK, "in use");
    symm_store_release(first);
}

/* ---- listen_fd ---- */

static void adopt(int listening, int options_port_is_given) {
    struct symm_tcp_store_options options = master_options();
    symm_store *master = NULL, *client = NULL;
    int port, fd = bound_socket(SOCK_STREAM, &port);
    if (listening) CHECK_INT(listen(fd, 5), 0);
    options.listen_fd = fd;
    options.port = options_port_is_given ? port : 0;
    REQUIRE_OK(symm_store_open_tcp(&options, &master));
    CHECK_INT(symm_store_port(master), port);
    CHECK(!is_open(fd));
    CHECK_OK(open_client(port, &client));
    CHECK_OK(symm_store_set(client, s("k"), s("v")));
    symm_store_release(client);
    symm_store_release(master);
}

TEST(a_master_takes_a_socket_over) {
    adopt(0, 0);
    adopt(0, 1);
    adopt(1, 0);
    adopt(1, 1);
}

TEST(a_socket_that_cannot_be_taken_stays_the_callers) {
    struct symm_tcp_store_options options = master_options();
    int port, fd = bound_socket(SOCK_STREAM, &port);
    char want[64];
    options.listen_fd = fd;
    options.port = port == 65535 ? 65534 : port + 1;
    snprintf(want, sizeof want, "bound to port %d, not %d", port, options.port);
    check_refused(&options, want);
    CHECK(is_open(fd));
    close(fd);
    options.port = 0;
    check_refused(&options, "no stream socket");
    fd = bound_socket(SOCK_DGRAM, &port);
    options.listen_fd = fd;
    check_refused(&options, "no stream socket");
    close(fd);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    options.listen_fd = fd;
    check_refused(&options, "not bound");
    close(fd);
}

/* ---- workers ---- */

struct opener {
    pthread_t thread;
    int port, world_size, rc;
    symm_store *store;
};

static void *open_worker(void *context) {
    struct opener *opener = context;
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    options.port = opener->port;
    options.world_size = opener->world_size;
    opener->rc = symm_store_open_tcp(&options, &opener->store);
    return NULL;
}

TEST(a_master_waits_for_its_workers) {
    struct opener openers[2] = {{.world_size = 3}, {.world_size = 3}};
    struct symm_tcp_store_options options = master_options();
    symm_store *master = NULL;
    options.listen_fd = bound_socket(SOCK_STREAM, &openers[0].port);
    CHECK_INT(listen(options.listen_fd, 5), 0);
    openers[1].port = openers[0].port;
    options.world_size = 3;
    for (int i = 0; i < 2; i++) {
        pthread_create(&openers[i].thread, NULL, open_worker, &openers[i]);
    }
    CHECK_OK(symm_store_open_tcp(&options, &master));
    for (int i = 0; i < 2; i++) {
        pthread_join(openers[i].thread, NULL);
        CHECK_OK(openers[i].rc);
        symm_store_release(openers[i].store);
    }
    symm_store_release(master);
}

TEST(missing_workers_are_counted_in_the_error) {
    struct opener worker = {.world_size = 3};
    struct symm_tcp_store_options options = master_options();
    symm_store *master = NULL;
    int fd = bound_socket(SOCK_STREAM, &worker.port);
    CHECK_INT(listen(fd, 5), 0);
    pthread_create(&worker.thread, NULL, open_worker, &worker);
    options.listen_fd = fd;
    options.world_size = 3;
    options.timeout_ms = 400;
    CHECK_FAILS(symm_store_open_tcp(&options, &master), SYMM_ETIMEOUT, "only 2/3 clients joined");
    CHECK(is_open(fd));
    pthread_join(worker.thread, NULL);
    CHECK_OK(worker.rc);
    symm_store_release(worker.store);
    close(fd);
}

TEST(without_wait_for_workers_nobody_waits) {
    struct symm_tcp_store_options options = master_options();
    symm_store *master = NULL;
    options.world_size = 2;
    options.wait_for_workers = 0;
    CHECK_OK(symm_store_open_tcp(&options, &master));
    symm_store_release(master);
}

/* ---- ending ---- */

static void *get_forever(void *context) {
    struct symm_bytes value;
    int rc = symm_store_get(context, s("never"), -1, &value);
    CHECK_INT(rc, SYMM_ENETWORK);
    CHECK_CONTAINS(symm_last_error()->message, "the store's master has ended");
    return NULL;
}

TEST(a_master_that_ends_first_says_goodbye) {
    pthread_t waiting;
    symm_store *master = open_master(), *client = NULL, *idle = NULL;
    int64_t sum;
    REQUIRE(master);
    REQUIRE_OK(open_client(symm_store_port(master), &client));
    REQUIRE_OK(open_client(symm_store_port(master), &idle));
    pthread_create(&waiting, NULL, get_forever, client);
    CHECK_OK(symm_store_set(client, s("k"), s("v")));
    symm_store_release(master);
    pthread_join(waiting, NULL);
    for (int i = 0; i < 3; i++) { /* a client that was not waiting learns it, too */
        CHECK_FAILS(symm_store_add(idle, s("n"), 1, &sum), SYMM_ENETWORK, "master has ended");
        CHECK_STR(symm_last_error()->op, "add");
    }
    symm_store_release(client);
    symm_store_release(idle);
}

TEST(lingering_lasts_until_the_others_have_left) {
    symm_store *master = open_master(), *client = NULL, *prefix = NULL, *hash = NULL;
    REQUIRE(master);
    CHECK_OK(symm_store_linger(master, 0));
    REQUIRE_OK(open_client(symm_store_port(master), &client));
    CHECK_OK(symm_store_open_prefix(s("p"), master, &prefix));
    CHECK_FAILS(symm_store_linger(prefix, 30), SYMM_ETIMEOUT, "1 other client had not left");
    CHECK_OK(symm_store_linger(client, 1)); /* no daemon here: nothing to wait for */
    symm_store_release(client);
    CHECK_OK(symm_store_linger(prefix, 20000));
    symm_store_release(prefix);
    symm_store_release(master);
    CHECK_OK(symm_store_open_hash(&hash));
    CHECK_OK(symm_store_linger(hash, 1));
    symm_store_release(hash);
}

TEST(a_prefix_store_keeps_the_store_below_it) {
    symm_store *master = open_master(), *prefix = NULL;
    REQUIRE(master);
    CHECK_OK(symm_store_open_prefix(s("p"), master, &prefix));
    symm_store_release(master);
    CHECK_OK(symm_store_set(prefix, s("k"), s("v")));
    symm_store_release(prefix);
    CHECK_FAILS(symm_store_open_prefix(s("p"), NULL, &prefix), SYMM_EINVALID, "store below");
}

/* ---- nothing stays behind ---- */

static int count_descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) count += is_open(fd);
    return count;
}

TEST(descriptors_are_given_back) {
    symm_store *warm = open_master();
    symm_store_release(warm);
    int before = count_descriptors();
    for (int i = 0; i < 20; i++) {
        struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
        symm_store *client = NULL, *master = open_master();
        REQUIRE(master);
        CHECK_OK(open_client(symm_store_port(master), &client));
        symm_store_release(client);
        options.port = symm_store_port(master);
        symm_store_release(master);
        options.timeout_ms = 1;
        CHECK_INT(symm_store_open_tcp(&options, &client), SYMM_ENETWORK);
    }
    CHECK_INT(count_descriptors(), before);
}
