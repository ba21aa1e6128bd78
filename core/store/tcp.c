/* SPDX-License-Identifier: MIT
 *
 * The tcp store: a channel to a daemon, which on the master runs in this process.
 *
 * Users' keys travel with a slash before them, as PyTorch's do; so keys without one are free for
 * the store's own use, and both libraries name the same thing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/options.h"
#include "store/channel.h"
#include "store/daemon.h"
#include "store/store.h"

struct tcp_store {
    symm_store store; /* first */
    struct symm__channel *channel;
    struct symm__daemon *daemon; /* NULL unless this is the master */
    int port;                    /* -1 with a Unix socket */
    char address[SYMM__ADDRESS_SIZE];
};

static struct tcp_store *tcp_of(symm_store *store) { return (struct tcp_store *)store; }

static const struct symm_slice nothing = {NULL, 0};

static int call(symm_store *store, enum symm__wire_operation operation,
                const struct symm__buffer *request, struct symm_slice tail, int64_t deadline_ns,
                struct symm__reply *reply_out) {
    int can_cancel = operation == SYMM__WIRE_GET || operation == SYMM__WIRE_WAIT;
    struct symm_slice head = {request->data, request->size};
    if (request->failed) return symm__fail_oom(request->size);
    return symm__channel_call(tcp_of(store)->channel, operation, head, tail, deadline_ns,
                              can_cancel, reply_out);
}

static void put_key(struct symm__buffer *request, struct symm_slice key) {
    symm__buffer_append(request, "/", 1);
    symm__buffer_append(request, key.data, key.size);
}

/* Frees both, and turns the reply's one number into *out. */
static int end_with_number(int rc, struct symm__buffer *request, struct symm__reply *reply,
                           size_t size, int64_t *out) {
    symm__buffer_free(request);
    if (rc != SYMM_OK) return rc;
    struct symm__cursor cursor = {reply->frame.payload, reply->frame.header.length, 0};
    int64_t number = size == 1 ? symm__cursor_u8(&cursor) : (int64_t)symm__cursor_u64(&cursor);
    symm__reply_free(reply);
    if (cursor.bad) return symm__fail(SYMM_ENETWORK, "the daemon's reply is cut short");
    *out = number;
    return SYMM_OK;
}

/* Larger things are refused here: they would have to travel first to be refused there. */
static int check_limit(const char *what, size_t size, size_t limit) {
    if (size <= limit) return SYMM_OK;
    return symm__fail(SYMM_ELIMIT, "%s of %zu bytes is over the store's %s limit of %zu",
                      strcmp(what, "key") == 0 ? "a key" : "a value", size, what, limit);
}

static int check_keys(symm_store *store, const struct symm_slice *keys, size_t count) {
    const struct symm__keyspace_limits *limits = &tcp_of(store)->channel->limits;
    if (count > limits->keys) {
        return symm__fail(SYMM_ELIMIT, "%zu keys in one request are over the store's limit of %zu",
                          count, limits->keys);
    }
    for (size_t i = 0; i < count; i++) {
        int rc = check_limit("key", keys[i].size, limits->key - 1);
        if (rc < 0) return rc;
    }
    return SYMM_OK;
}

static int tcp_set(symm_store *store, struct symm_slice key, struct symm_slice value,
                   int64_t deadline_ns) {
    struct symm__buffer request = {NULL, 0, 0, 0};
    struct symm__reply reply;
    int rc = check_keys(store, &key, 1);
    if (rc == SYMM_OK) rc = check_limit("value", value.size, tcp_of(store)->channel->limits.value);
    if (rc < 0) return rc;
    symm__buffer_u32(&request, (uint32_t)key.size + 1);
    put_key(&request, key);
    rc = call(store, SYMM__WIRE_SET, &request, value, deadline_ns, &reply);
    symm__buffer_free(&request);
    if (rc == SYMM_OK) symm__reply_free(&reply);
    return rc;
}

static int tcp_get(symm_store *store, struct symm_slice key, int64_t deadline_ns,
                   struct symm_bytes *value_out) {
    struct symm__buffer request = {NULL, 0, 0, 0};
    struct symm__reply reply;
    int rc = check_keys(store, &key, 1);
    if (rc < 0) return rc;
    put_key(&request, key);
    rc = call(store, SYMM__WIRE_GET, &request, nothing, deadline_ns, &reply);
    symm__buffer_free(&request);
    if (rc == SYMM__CHANNEL_EXPIRED) return SYMM__STORE_ABSENT;
    if (rc < 0) return rc;
    value_out->data = reply.frame.owned;
    value_out->size = reply.frame.header.length;
    value_out->data[value_out->size] = '\0';
    return SYMM_OK;
}

static int tcp_add(symm_store *store, struct symm_slice key, int64_t amount, int64_t deadline_ns,
                   int64_t *sum_out) {
    struct symm__buffer request = {NULL, 0, 0, 0};
    struct symm__reply reply;
    int rc = check_keys(store, &key, 1);
    if (rc < 0) return rc;
    symm__buffer_u64(&request, (uint64_t)amount);
    put_key(&request, key);
    rc = call(store, SYMM__WIRE_ADD, &request, nothing, deadline_ns, &reply);
    return end_with_number(rc, &request, &reply, 8, sum_out);
}

static void put_keys(struct symm__buffer *request, const struct symm_slice *keys, size_t count) {
    symm__buffer_u32(request, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        symm__buffer_u32(request, (uint32_t)keys[i].size + 1);
        put_key(request, keys[i]);
    }
}

static int tcp_wait(symm_store *store, const struct symm_slice *keys, size_t count,
                    int64_t deadline_ns) {
    struct symm__buffer request = {NULL, 0, 0, 0};
    struct symm__reply reply;
    int rc = check_keys(store, keys, count);
    if (rc < 0) return rc;
    put_keys(&request, keys, count);
    rc = call(store, SYMM__WIRE_WAIT, &request, nothing, deadline_ns, &reply);
    symm__buffer_free(&request);
    if (rc == SYMM_OK) symm__reply_free(&reply);
    return rc == SYMM__CHANNEL_EXPIRED ? SYMM__STORE_ABSENT : rc;
}

static int tcp_check(symm_store *store, const struct symm_slice *keys, size_t count,
                     int64_t deadline_ns, int *all_out) {
    struct symm__buffer request = {NULL, 0, 0, 0};
    struct symm__reply reply;
    int64_t all = 0;
    int rc = check_keys(store, keys, count);
    if (rc < 0) return rc;
    put_keys(&request, keys, count);
    rc = call(store, SYMM__WIRE_CHECK, &request, nothing, deadline_ns, &reply);
    rc = end_with_number(rc, &request, &reply, 1, &all);
    if (rc == SYMM_OK) *all_out = all != 0;
    return rc;
}

static int tcp_delete_key(symm_store *store, struct symm_slice key, int64_t deadline_ns,
                          int *deleted_out) {
    struct symm__buffer request = {NULL, 0, 0, 0};
    struct symm__reply reply;
    int64_t deleted = 0;
    int rc = check_keys(store, &key, 1);
    if (rc < 0) return rc;
    put_key(&request, key);
    rc = call(store, SYMM__WIRE_DELETE, &request, nothing, deadline_ns, &reply);
    rc = end_with_number(rc, &request, &reply, 1, &deleted);
    if (rc == SYMM_OK) *deleted_out = deleted != 0;
    return rc;
}

static int tcp_num_keys(symm_store *store, struct symm_slice prefix, int64_t deadline_ns,
                        int64_t *count_out) {
    struct symm__buffer request = {NULL, 0, 0, 0};
    struct symm__reply reply;
    int rc = check_keys(store, &prefix, 1);
    if (rc < 0) return rc;
    put_key(&request, prefix);
    rc = call(store, SYMM__WIRE_NUM_KEYS, &request, nothing, deadline_ns, &reply);
    return end_with_number(rc, &request, &reply, 8, count_out);
}

static void tcp_describe(symm_store *store, char *text, size_t size) {
    snprintf(text, size, "tcp store %s", tcp_of(store)->address);
}

static int tcp_port(const symm_store *store) { return ((const struct tcp_store *)store)->port; }

static int tcp_linger(symm_store *store, int64_t deadline_ns) {
    struct tcp_store *tcp = tcp_of(store);
    int clients = 0, own = 1;
    if (!tcp->daemon) return SYMM_OK;
    int64_t start_ns = symm_now_ns();
    int rc = symm__attendance_wait_left(&tcp->daemon->attendance, own, deadline_ns, &clients);
    if (rc <= 0) return rc;
    return symm__fail(SYMM_ETIMEOUT, "%d other client%s had not left within %lld ms (tcp store %s)",
                      clients - own, clients - own == 1 ? "" : "s",
                      (long long)((symm_now_ns() - start_ns) / 1000000), tcp->address);
}

static void tcp_close(symm_store *store) {
    struct tcp_store *tcp = tcp_of(store);
    symm__channel_close(tcp->channel);
    if (tcp->daemon) tcp->daemon->ops->close(tcp->daemon);
    free(tcp);
}

static const struct symm__store_ops tcp_ops = {
    .size = sizeof tcp_ops,
    .kind = "tcp",
    .close = tcp_close,
    .describe = tcp_describe,
    .port = tcp_port,
    .linger = tcp_linger,
    .set = tcp_set,
    .get = tcp_get,
    .add = tcp_add,
    .wait = tcp_wait,
    .check = tcp_check,
    .delete_key = tcp_delete_key,
    .num_keys = tcp_num_keys,
};

/* ---- opening ---- */

static int check_options(const struct symm_tcp_store_options *options) {
    int is_unix = options->host && options->host[0] == '@';
    if (!options->host || (!*options->host && !options->is_master)) {
        return symm__fail(SYMM_EINVALID, "a tcp store needs a host");
    }
    if (options->port < 0 || options->port > 65535) {
        return symm__fail(SYMM_EINVALID, "port %d is not from 0 to 65535", options->port);
    }
    if (options->port == 0 && !is_unix && !options->is_master) {
        return symm__fail(SYMM_EINVALID, "a client needs the port of the store, not 0");
    }
    if (options->world_size < -1 || options->world_size == 0) {
        return symm__fail(SYMM_EINVALID, "world_size must be above 0, or -1 for unknown, not %d",
                          options->world_size);
    }
    if (options->listen_fd >= 0 && !options->is_master) {
        return symm__fail(SYMM_EINVALID, "listen_fd is for the master; this is a client");
    }
    return SYMM_OK;
}

/* The master's daemon; *host and *port become the address at which this process reaches it. */
static int start_daemon(const struct symm_tcp_store_options *options, char *host, size_t size,
                        int *port, struct symm__daemon **out) {
    struct symm__daemon_options daemon = SYMM__DAEMON_OPTIONS_INIT;
    int fd = -1;
    int rc = options->listen_fd >= 0 ? symm__socket_adopt(options->listen_fd, options->port, &fd)
                                     : symm__socket_listen(options->host, options->port, &fd);
    if (rc == SYMM_OK) rc = symm__socket_self(fd, host, size, port);
    if (rc == SYMM_OK) return symm__daemon_open_uv(fd, &daemon, out);
    if (fd >= 0) close(fd);
    return rc;
}

/* Counts this client as a worker; the master waits until all are there. */
static int join(struct tcp_store *tcp, const struct symm_tcp_store_options *options,
                int64_t start_ns, int64_t deadline_ns) {
    struct symm__buffer empty = {NULL, 0, 0, 0};
    struct symm__reply reply;
    int joined = 0;
    if (!options->wait_for_workers || options->world_size < 0) return SYMM_OK;
    int rc = call(&tcp->store, SYMM__WIRE_JOIN, &empty, nothing, deadline_ns, &reply);
    if (rc < 0) return rc;
    symm__reply_free(&reply);
    if (!tcp->daemon) return SYMM_OK;
    rc = symm__attendance_wait_joined(&tcp->daemon->attendance, options->world_size, deadline_ns,
                                      &joined);
    if (rc <= 0) return rc;
    return symm__fail(SYMM_ETIMEOUT, "only %d/%d clients joined within %lld ms (tcp store %s)",
                      joined, options->world_size,
                      (long long)((symm_now_ns() - start_ns) / 1000000), tcp->address);
}

static int open_parts(struct tcp_store *tcp, const struct symm_tcp_store_options *options) {
    char host[SYMM__ADDRESS_SIZE];
    int port = options->host[0] == '@' ? -1 : options->port;
    int64_t start_ns = symm_now_ns(), deadline_ns = 0;
    int rc = symm__deadline(options->timeout_ms, SYMM_STORE_DEFAULT_TIMEOUT_MS, &deadline_ns);
    if (rc < 0) return rc;
    snprintf(host, sizeof host, "%s", options->host);
    if (options->is_master) rc = start_daemon(options, host, sizeof host, &port, &tcp->daemon);
    tcp->port = port;
    symm__address_text(options->listen_fd >= 0 || !*options->host ? host : options->host, port,
                       tcp->address, sizeof tcp->address);
    if (rc == SYMM_OK) rc = symm__channel_open(host, port, deadline_ns, &tcp->channel);
    return rc < 0 ? rc : join(tcp, options, start_ns, deadline_ns);
}

int symm_store_open_tcp(const struct symm_tcp_store_options *options, symm_store **out) {
    SYMM__GUARD_FORK();
    struct symm_tcp_store_options o = SYMM_TCP_STORE_OPTIONS_INIT;
    if (!options)
        return symm__fail(SYMM_EINVALID,
                          "a tcp store needs options: begin with SYMM_TCP_STORE_OPTIONS_INIT");
    int rc = symm__options_read("symm_tcp_store_options", &o, sizeof o, sizeof o, options);
    if (rc == SYMM_OK) rc = check_options(&o);
    if (rc < 0) return rc;
    struct tcp_store *tcp = calloc(1, sizeof *tcp);
    if (!tcp) return symm__fail_oom(sizeof *tcp);
    symm__store_init(&tcp->store, &tcp_ops);
    if (o.timeout_ms) atomic_init(&tcp->store.timeout_ms, o.timeout_ms);
    struct symm__activity_mark mark = symm__activity_begin(SYMM__ACT_store_open, 0, -1, -1);
    rc = open_parts(tcp, &o);
    symm__activity_end(mark);
    if (rc < 0) {
        struct symm_error error = *symm_last_error();
        tcp_close(&tcp->store);
        return symm__fail_with(&error);
    }
    if (o.listen_fd >= 0) close(o.listen_fd);
    *out = &tcp->store;
    return SYMM_OK;
}
