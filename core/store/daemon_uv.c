/* SPDX-License-Identifier: MIT
 *
 * The libuv daemon: one thread, one loop, all signals blocked.
 *
 * Invariants: only the loop's thread touches anything here but the attendance and the stop handle.
 * A connection is in `connections` until its close has begun, and its session lives as long. No
 * connection holds up another: nothing blocks, one read takes at most READ_SIZE bytes, a session
 * whose backlog is full is not read until it has been sent.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>
#include <uv.h>

#include "base/error.h"
#include "base/log.h"
#include "store/daemon.h"
#include "store/service.h"
#include "store/socket.h"

#define READ_SIZE 65536
#define KEPT_BUFFER 512 /* a reply buffer of at most this size stays with its session */

union stream {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct uv_daemon {
    struct symm__daemon daemon; /* first */
    struct symm__daemon_options options;
    struct symm__service service;
    pthread_t thread;
    uv_loop_t loop;
    uv_async_t stop;
    uv_timer_t timer; /* for the oldest of `greeting`; once stopping, for the farewell */
    union stream listener;
    int is_unix, is_stopping;
    struct connection *connections;
    struct connection *greeting; /* those whose handshake is not done, oldest first */
    char buffer[READ_SIZE];
};

struct connection {
    union stream io;
    struct symm__session session;
    struct uv_daemon *daemon;
    struct connection *prev, *next;
    struct connection *greeting_prev, *greeting_next;
    uint64_t greeting_until; /* ms of the loop; 0: not in `greeting` */
    char *rest;              /* bytes that were read while the backlog was full */
    size_t rest_size;
    int is_paused, is_closing;
};

struct write {
    uv_write_t request;
    struct connection *connection;
    char *data;
    size_t size;
};

static void feed(struct connection *connection, const char *data, size_t size);
static void settle(struct connection *connection, int rc, const char *data, size_t size);

/* ---- the end of a connection ---- */

static void leave_greeting(struct connection *connection) {
    if (!connection->greeting_until) return;
    connection->greeting_until = 0;
    DL_DELETE2(connection->daemon->greeting, connection, greeting_prev, greeting_next);
}

static void on_closed(uv_handle_t *handle) {
    struct connection *connection = handle->data;
    free(connection->rest);
    free(connection);
}

static void close_timer_when_done(struct uv_daemon *daemon) {
    uv_handle_t *timer = (uv_handle_t *)&daemon->timer;
    if (daemon->is_stopping && !daemon->connections && !uv_is_closing(timer)) uv_close(timer, NULL);
}

static void close_connection(struct connection *connection) {
    struct uv_daemon *daemon = connection->daemon;
    if (connection->is_closing) return;
    connection->is_closing = 1;
    leave_greeting(connection);
    DL_DELETE(daemon->connections, connection);
    symm__session_close(&connection->session);
    uv_close(&connection->io.handle, on_closed);
    symm__attendance_publish(&daemon->daemon.attendance, daemon->service.clients,
                             daemon->service.joined);
    close_timer_when_done(daemon);
}

/* ---- writing ---- */

static void resume(struct connection *connection) {
    char *rest = connection->rest;
    size_t size = connection->rest_size;
    connection->rest = NULL;
    connection->rest_size = 0;
    if (size) {
        feed(connection, rest, size);
    } else {
        settle(connection, SYMM_OK, NULL, 0);
    }
    free(rest);
}

static void on_written(uv_write_t *request, int status) {
    struct write *write = (struct write *)request;
    struct connection *connection = write->connection;
    size_t size = write->size;
    free(write->data);
    free(write);
    if (connection->is_closing) return;
    connection->session.unsent -= size;
    int done = connection->daemon->is_stopping && !connection->session.unsent;
    if (status < 0 || done) {
        close_connection(connection);
    } else if (connection->is_paused && !symm__session_is_full(&connection->session)) {
        resume(connection);
    }
}

/* Hands to libuv what could not be written at once; takes `data` over. */
static int queue(struct connection *connection, char *data, size_t begin, size_t size) {
    struct write *write = malloc(sizeof *write);
    if (!write) {
        free(data);
        return UV_ENOMEM;
    }
    write->connection = connection;
    write->data = data;
    write->size = size - begin;
    connection->session.unsent += write->size;
    uv_buf_t rest = {.base = data + begin, .len = write->size};
    int rc = uv_write(&write->request, &connection->io.stream, &rest, 1, on_written);
    if (rc < 0) {
        free(data);
        free(write);
    }
    return rc;
}

/* Writes what the session has to say, as much as goes now. */
static int send_out(struct connection *connection) {
    struct symm__buffer *out = &connection->session.out;
    uv_buf_t all = {.base = out->data, .len = out->size};
    int written = connection->session.unsent ? 0 : uv_try_write(&connection->io.stream, &all, 1);
    if (written == UV_EAGAIN) written = 0;
    if (written < 0) return written;
    struct symm__buffer taken = *out;
    memset(out, 0, sizeof *out);
    if ((size_t)written < taken.size) {
        return queue(connection, taken.data, (size_t)written, taken.size);
    }
    if (taken.capacity > KEPT_BUFFER) {
        symm__buffer_free(&taken);
    } else {
        taken.size = 0;
        *out = taken;
    }
    return 0;
}

static void send_dirty(struct uv_daemon *daemon) {
    struct symm__session *session;
    while ((session = symm__service_next_dirty(&daemon->service))) {
        struct connection *connection =
            (struct connection *)((char *)session - offsetof(struct connection, session));
        if (session->out.failed || send_out(connection) < 0) close_connection(connection);
    }
}

/* ---- reading ---- */

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
    struct connection *connection = handle->data;
    (void)suggested;
    buffer->len = symm__session_room(&connection->session, &buffer->base);
    if (buffer->len) return;
    buffer->base = connection->daemon->buffer;
    buffer->len = READ_SIZE;
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer);

/* After bytes were taken, `size` of them were left: sends, and stops or starts reading. */
static void settle(struct connection *connection, int rc, const char *data, size_t size) {
    struct uv_daemon *daemon = connection->daemon;
    if (rc == SYMM_OK && size) {
        connection->rest = malloc(size);
        if (connection->rest) memcpy(connection->rest, data, size);
        connection->rest_size = size;
        if (!connection->rest) rc = SYMM_EOOM;
    }
    if (rc < 0) {
        symm__log(SYMM_LOG_DEBUG, "store", "a connection is closed: %s",
                  symm_last_error()->message);
        close_connection(connection);
    } else if (connection->session.stage != SYMM__SESSION_GREETING) {
        leave_greeting(connection);
    }
    /* Before the answer: a client that knows that it is here is counted. */
    symm__attendance_publish(&daemon->daemon.attendance, daemon->service.clients,
                             daemon->service.joined);
    send_dirty(daemon);
    if (connection->is_closing) return;
    int pause = connection->rest_size || symm__session_is_full(&connection->session);
    if (pause && !connection->session.unsent) { /* all could be sent: there is room again */
        resume(connection);
    } else if (pause != connection->is_paused) {
        connection->is_paused = pause;
        if (pause) uv_read_stop(&connection->io.stream);
        if (!pause) uv_read_start(&connection->io.stream, on_room, on_read);
    }
}

static void feed(struct connection *connection, const char *data, size_t size) {
    int rc = symm__session_feed(&connection->session, &data, &size);
    settle(connection, rc, data, size);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer) {
    struct connection *connection = stream->data;
    if (count < 0) {
        close_connection(connection);
    } else if (count > 0 && buffer->base != connection->daemon->buffer) {
        settle(connection, symm__session_filled(&connection->session, (size_t)count), NULL, 0);
    } else if (count > 0) {
        feed(connection, buffer->base, (size_t)count);
    }
}

/* ---- new connections ---- */

static void on_timer(uv_timer_t *timer);

static void arm_timer(struct uv_daemon *daemon) {
    if (!daemon->greeting || daemon->is_stopping) return;
    uint64_t now = uv_now(&daemon->loop), until = daemon->greeting->greeting_until;
    uv_timer_start(&daemon->timer, on_timer, until > now ? until - now : 0, 0);
}

static void on_timer(uv_timer_t *timer) {
    struct uv_daemon *daemon = timer->data;
    struct connection *connection, *next;
    DL_FOREACH_SAFE(daemon->connections, connection, next) {
        if (daemon->is_stopping) close_connection(connection);
    }
    while (daemon->greeting && daemon->greeting->greeting_until <= uv_now(&daemon->loop)) {
        close_connection(daemon->greeting);
    }
    arm_timer(daemon);
}

static int init_stream(struct uv_daemon *daemon, union stream *stream, void *data) {
    int rc = daemon->is_unix ? uv_pipe_init(&daemon->loop, &stream->pipe, 0)
                             : uv_tcp_init(&daemon->loop, &stream->tcp);
    stream->handle.data = data;
    return rc;
}

static int accept_from(struct uv_daemon *daemon, struct connection *connection) {
    uv_os_fd_t fd = -1;
    int rc = uv_accept(&daemon->listener.stream, &connection->io.stream);
    if (rc < 0) return rc;
    if (daemon->is_unix) {
        uv_fileno(&connection->io.handle, &fd);
        if (symm__socket_check_peer(fd) < 0) return UV_EACCES;
    } else {
        uv_tcp_nodelay(&connection->io.tcp, 1);
        uv_tcp_keepalive(&connection->io.tcp, 1, 60);
    }
    return uv_read_start(&connection->io.stream, on_room, on_read);
}

static void on_connection(uv_stream_t *listener, int status) {
    struct uv_daemon *daemon = listener->data;
    if (status < 0) return;
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection) return; /* libuv keeps the client waiting until the next one is accepted */
    if (init_stream(daemon, &connection->io, connection) < 0) {
        free(connection);
        return;
    }
    connection->daemon = daemon;
    symm__session_open(&daemon->service, &connection->session);
    connection->greeting_until = uv_now(&daemon->loop) + (uint64_t)daemon->options.greeting_ms;
    DL_APPEND(daemon->connections, connection);
    DL_APPEND2(daemon->greeting, connection, greeting_prev, greeting_next);
    if (accept_from(daemon, connection) < 0) close_connection(connection);
    if (!uv_is_active((uv_handle_t *)&daemon->timer)) arm_timer(daemon);
}

/* ---- beginning and end ---- */

static void on_stop(uv_async_t *stop) {
    struct uv_daemon *daemon = stop->data;
    struct connection *connection, *next;
    daemon->is_stopping = 1;
    uv_close((uv_handle_t *)stop, NULL);
    uv_close(&daemon->listener.handle, NULL);
    DL_FOREACH(daemon->connections, connection) symm__session_goodbye(&connection->session);
    send_dirty(daemon);
    DL_FOREACH_SAFE(daemon->connections, connection, next) {
        if (!connection->session.unsent) close_connection(connection);
    }
    close_timer_when_done(daemon);
    if (daemon->connections) {
        uv_timer_start(&daemon->timer, on_timer, (uint64_t)daemon->options.farewell_ms, 0);
    }
}

static void *run(void *context) {
    struct uv_daemon *daemon = context;
    uv_run(&daemon->loop, UV_RUN_DEFAULT);
    return NULL;
}

static void free_daemon(struct uv_daemon *daemon) {
    uv_loop_close(&daemon->loop);
    symm__service_close(&daemon->service);
    symm__attendance_destroy(&daemon->daemon.attendance);
    free(daemon);
}

static void uv_daemon_close(struct symm__daemon *base) {
    struct uv_daemon *daemon = (struct uv_daemon *)base;
    uv_async_send(&daemon->stop);
    pthread_join(daemon->thread, NULL);
    free_daemon(daemon);
}

static const struct symm__daemon_ops uv_daemon_ops = {
    .size = sizeof uv_daemon_ops,
    .kind = "libuv",
    .close = uv_daemon_close,
};

static int start_thread(struct uv_daemon *daemon) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&daemon->thread, NULL, run, daemon);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

/* Takes listen_fd over, unless it fails before. */
static int start_listening(struct uv_daemon *daemon, int *listen_fd) {
    uv_async_init(&daemon->loop, &daemon->stop, on_stop);
    uv_timer_init(&daemon->loop, &daemon->timer);
    daemon->stop.data = daemon->timer.data = daemon;
    int rc = init_stream(daemon, &daemon->listener, daemon);
    if (rc < 0) return rc;
    rc = daemon->is_unix ? uv_pipe_open(&daemon->listener.pipe, *listen_fd)
                         : uv_tcp_open(&daemon->listener.tcp, *listen_fd);
    if (rc < 0) return rc;
    *listen_fd = -1;
    rc = uv_listen(&daemon->listener.stream, SOMAXCONN, on_connection);
    return rc < 0 ? rc : start_thread(daemon);
}

static void close_handle(uv_handle_t *handle, void *context) {
    (void)context;
    uv_close(handle, NULL);
}

static int fail_open(struct uv_daemon *daemon, int listen_fd, int error) {
    if (listen_fd >= 0) close(listen_fd);
    uv_walk(&daemon->loop, close_handle, NULL); /* the loop is this daemon's alone */
    uv_run(&daemon->loop, UV_RUN_DEFAULT);
    free_daemon(daemon);
    return symm__fail_errno(-error, "the store's daemon could not start");
}

int symm__daemon_open_uv(int listen_fd, const struct symm__daemon_options *options,
                         struct symm__daemon **out) {
    struct uv_daemon *daemon = calloc(1, sizeof *daemon);
    int rc = daemon ? symm__service_open(&options->limits, &daemon->service)
                    : symm__fail_oom(sizeof *daemon);
    if (rc < 0) {
        free(daemon);
        close(listen_fd);
        return rc;
    }
    daemon->daemon.ops = &uv_daemon_ops;
    daemon->options = *options;
    daemon->is_unix = symm__socket_is_unix(listen_fd);
    symm__attendance_init(&daemon->daemon.attendance);
    int error = uv_loop_init(&daemon->loop);
    if (error < 0) {
        symm__service_close(&daemon->service);
        free(daemon);
        close(listen_fd);
        return symm__fail_errno(-error, "the loop of the store's daemon");
    }
    error = start_listening(daemon, &listen_fd);
    if (error < 0) return fail_open(daemon, listen_fd, error);
    *out = &daemon->daemon;
    return SYMM_OK;
}
