/* SPDX-License-Identifier: MIT
 *
 * The tcp store between processes: a master that is killed or stopped, a forked child, another
 * user.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <symm/error.h>
#include <symm/store.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
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

/* ---- a master in a process of its own ---- */

/* Opens a master on the descriptor argv[1] and serves until it is killed. */
ROLE(master) {
    struct symm_tcp_store_options options = master_options();
    symm_store *store = NULL;
    options.listen_fd = atoi(argv[1]);
    if (!CHECK_OK(symm_store_open_tcp(&options, &store))) return 1;
    CHECK_OK(symm_store_set(store, s("ready"), s("")));
    for (;;) pause();
}

static pid_t spawn_master(symm_store **client) {
    int port, fd = bound_socket(SOCK_STREAM, &port);
    char number[16];
    fcntl(fd, F_SETFD, 0);
    listen(fd, 5);
    snprintf(number, sizeof number, "%d", fd);
    pid_t pid = check_spawn("master", number, NULL);
    close(fd);
    CHECK_OK(open_client(port, client));
    struct symm_slice ready = s("ready");
    CHECK_OK(symm_store_wait(*client, &ready, 1, 20000));
    return pid;
}

static void end_master(pid_t pid) {
    kill(pid, SIGKILL);
    CHECK_INT(check_wait(pid), 128 + SIGKILL);
}

TEST(a_master_that_is_killed_is_a_lost_connection) {
    symm_store *client = NULL;
    struct symm_bytes value;
    pid_t pid = spawn_master(&client);
    REQUIRE(client);
    end_master(pid);
    CHECK_FAILS(symm_store_get(client, s("never"), -1, &value), SYMM_ENETWORK, "was lost");
    CHECK_FAILS(symm_store_set(client, s("k"), s("v")), SYMM_ENETWORK, "was lost");
    symm_store_release(client);
}

TEST(a_stopped_master_ends_calls_by_their_time) {
    symm_store *client = NULL;
    struct symm_bytes value;
    struct symm_slice key = s("k");
    pid_t pid = spawn_master(&client);
    REQUIRE(client);
    kill(pid, SIGSTOP);
    CHECK_FAILS(symm_store_get(client, key, 50, &value), SYMM_ETIMEOUT, "did not answer");
    CHECK_FAILS(symm_store_wait(client, &key, 1, 50), SYMM_ETIMEOUT, "did not answer");
    CHECK_OK(symm_store_set_timeout(client, 50));
    CHECK_FAILS(symm_store_set(client, key, s("v")), SYMM_ETIMEOUT, "did not answer");
    CHECK_OK(symm_store_set_timeout(client, 20000));
    kill(pid, SIGCONT);
    CHECK_OK(symm_store_set(client, s("k2"), s("v"))); /* late answers disturb nothing */
    CHECK_OK(symm_store_get(client, s("k2"), 0, &value));
    CHECK_STR(value.data, "v");
    symm_bytes_free(&value);
    symm_store_release(client);
    end_master(pid);
}

TEST(a_request_cut_by_its_time_does_not_break_the_stream) {
    enum { LARGE = 40 << 20 };
    symm_store *client = NULL;
    struct symm_bytes value;
    char *large = calloc(1, LARGE);
    pid_t pid = spawn_master(&client);
    REQUIRE(client && large);
    kill(pid, SIGSTOP);
    CHECK_OK(symm_store_set_timeout(client, 50));
    CHECK_FAILS(symm_store_set(client, s("large"), (struct symm_slice){large, LARGE}),
                SYMM_ETIMEOUT, "did not answer");
    CHECK_FAILS(symm_store_set(client, s("small"), s("v")), SYMM_ETIMEOUT, "did not answer");
    CHECK_OK(symm_store_set_timeout(client, 20000));
    kill(pid, SIGCONT);
    CHECK_OK(symm_store_get(client, s("large"), 0, &value)); /* what was left over went first */
    CHECK_UINT(value.size, LARGE);
    symm_bytes_free(&value);
    symm_store_release(client);
    end_master(pid);
    free(large);
}

/* ---- forks and strangers' processes ---- */

TEST(a_forked_child_is_told_off_and_the_parent_goes_on) {
    symm_store *master = open_master(), *hash = NULL;
    REQUIRE(master);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct symm_bytes value;
        struct symm_tcp_store_options options = master_options();
        symm_store *store;
        int wrong = symm_store_set(master, s("k"), s("v")) != SYMM_EUNSUPPORTED;
        wrong += symm_store_get(master, s("k"), 0, &value) != SYMM_EUNSUPPORTED;
        wrong += symm_store_open_hash(&store) != SYMM_EUNSUPPORTED;
        wrong += symm_store_open_tcp(&options, &store) != SYMM_EUNSUPPORTED;
        wrong += strstr(symm_last_error()->message, "forked") == NULL;
        symm_store_release(master);
        _exit(wrong);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    CHECK_OK(symm_store_set(master, s("k"), s("v")));
    symm_store_release(master);
    CHECK_OK(symm_store_open_hash(&hash));
    symm_store_release(hash);
}

/* Another user asks for the socket argv[1]: the client refuses the daemon, and to a bare socket the
 * daemon does not answer a greeting. */
ROLE(other_user) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    symm_store *store = NULL;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char byte;
    if (setuid(65534) != 0) return 2;
    prctl(PR_SET_DUMPABLE, 1); /* else /proc/self is root's, and a leak checker cannot look */
    options.host = argv[1];
    options.timeout_ms = 20000;
    CHECK_FAILS(symm_store_open_tcp(&options, &store), SYMM_ENETWORK, "belongs to user 0");
    size_t size = strlen(argv[1]);
    memcpy(address.sun_path + 1, argv[1] + 1, size - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_INT(connect(fd, (struct sockaddr *)&address, (socklen_t)(sizeof(sa_family_t) + size)), 0);
    send(fd, "\x00\xCE\xF7\x85\x3C\x0D\x01\x4D\x59\x53", 10, MSG_NOSIGNAL);
    CHECK(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
    return 0;
}

TEST(an_abstract_socket_is_for_its_user_alone) {
    char name[64];
    symm_store *master = NULL;
    struct symm_tcp_store_options options = master_options();
    if (geteuid() != 0) SKIP("only root can become another user");
    snprintf(name, sizeof name, "@store-fault-test-user-%d", (int)getpid());
    options.host = name;
    REQUIRE_OK(symm_store_open_tcp(&options, &master));
    CHECK_INT(check_wait(check_spawn("other_user", name, NULL)), 0);
    CHECK_OK(symm_store_set(master, s("k"), s("v")));
    symm_store_release(master);
}
