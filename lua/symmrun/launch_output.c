/* SPDX-License-Identifier: MIT
 *
 * The ranks' lines. A line is written whole, after its rank's mark, and only once it is finished;
 * the last one of a rank may lack its end and gets one. Bytes are not looked at, but for '\n'.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lua/symmrun/job.h"

/* Longer lines are cut into pieces of this size. */
#define LONGEST_LINE ((size_t)1 << 20)
/* The ranks wait while more than this is waiting to be written. */
#define SINK_LIMIT ((size_t)1 << 20)

/* ---- sinks: the thread ---- */

struct text {
    char *data;
    size_t size, capacity;
};

/* 0, or errno. The descriptor may be non-blocking: somebody else may have made it so. */
static int write_all(int fd, const struct text *text) {
    size_t written = 0;
    while (written < text->size) {
        ssize_t size = write(fd, text->data + written, text->size - written);
        if (size >= 0) {
            written += (size_t)size;
        } else if (errno == EAGAIN) {
            struct pollfd ready = {fd, POLLOUT, 0};
            poll(&ready, 1, 1000);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

static void swap_texts(struct sink *sink, struct text *text) {
    struct text taken = {sink->waiting, sink->waiting_size, sink->waiting_capacity};
    sink->waiting = text->data;
    sink->waiting_capacity = text->capacity;
    sink->waiting_size = 0;
    *text = taken;
}

static void *write_lines(void *argument) {
    struct sink *sink = argument;
    struct text text = {NULL, 0, 0};
    pthread_mutex_lock(&sink->lock);
    while (!sink->closing) {
        if (!sink->waiting_size) {
            pthread_cond_wait(&sink->more, &sink->lock);
            continue;
        }
        swap_texts(sink, &text);
        sink->busy = 1;
        pthread_mutex_unlock(&sink->lock);
        int error = write_all(sink->fd, &text);
        pthread_mutex_lock(&sink->lock);
        sink->busy = 0;
        if (error) sink->error = error;
        uv_async_send(&sink->progress);
    }
    pthread_mutex_unlock(&sink->lock);
    free(text.data);
    return NULL;
}

/* ---- sinks: the loop ---- */

static void read_again(struct stream *stream);

static void set_stream_reading(struct stream *stream, struct sink *sink, int reading) {
    if (!stream->is_open || stream->sink != sink) return;
    if (reading) {
        read_again(stream);
    } else {
        uv_read_stop((uv_stream_t *)&stream->pipe);
    }
}

static void set_reading(struct sink *sink, int reading) {
    struct job *job = sink->job;
    for (int i = 0; i < job->count; i++) {
        set_stream_reading(&job->ranks[i].out, sink, reading);
        set_stream_reading(&job->ranks[i].err, sink, reading);
    }
    sink->full = !reading;
}

/* Where nobody reads, there is nobody to work for: the shell's rule, without its silence. */
static void give_up(struct sink *sink, int error) {
    if (sink->failed) return;
    sink->failed = 1;
    if (error != EPIPE) {
        symmrun_say("%s cannot be written: %s",
                    sink->fd == STDOUT_FILENO ? "standard output" : "standard error",
                    strerror(error));
    }
    job_stop(sink->job, SIGTERM);
}

static void on_progress(uv_async_t *progress) {
    struct sink *sink = progress->data;
    pthread_mutex_lock(&sink->lock);
    int error = sink->error;
    if (error) sink->waiting_size = 0;
    size_t waiting = sink->waiting_size;
    pthread_mutex_unlock(&sink->lock);
    if (error) give_up(sink, error);
    if (sink->full && waiting < SINK_LIMIT / 2) set_reading(sink, 1);
    job_check_end(sink->job);
}

/* No signal of the job is for it. */
static int start_thread(struct sink *sink) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&sink->thread, NULL, write_lines, sink);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int sink_open(struct sink *sink, struct job *job, int fd) {
    memset(sink, 0, sizeof *sink);
    sink->fd = fd;
    pthread_mutex_init(&sink->lock, NULL);
    pthread_cond_init(&sink->more, NULL);
    int rc = uv_async_init(&job->loop, &sink->progress, on_progress);
    if (rc < 0) {
        symmrun_say("no wake-up for the output: %s", uv_strerror(rc));
        return EXIT_FAILED;
    }
    sink->progress.data = sink;
    int error = start_thread(sink);
    if (error) {
        symmrun_say("no thread for the output: %s", strerror(error));
        uv_close((uv_handle_t *)&sink->progress, NULL);
        return EXIT_FAILED;
    }
    sink->job = job;
    return 0;
}

void sink_close(struct sink *sink) {
    if (!sink->job) return;
    pthread_mutex_lock(&sink->lock);
    sink->closing = 1;
    pthread_cond_signal(&sink->more);
    pthread_mutex_unlock(&sink->lock);
    pthread_join(sink->thread, NULL);
    uv_close((uv_handle_t *)&sink->progress, NULL);
    free(sink->waiting);
    sink->waiting = NULL;
    sink->job = NULL;
}

int sink_is_idle(struct sink *sink) {
    if (!sink->job) return 1;
    pthread_mutex_lock(&sink->lock);
    int idle = !sink->busy && !sink->waiting_size;
    pthread_mutex_unlock(&sink->lock);
    return idle;
}

static int reserve(char **data, size_t *capacity, size_t size) {
    if (size <= *capacity) return 1;
    size_t grown = *capacity ? *capacity : 4096;
    while (grown < size) grown *= 2;
    char *moved = realloc(*data, grown);
    if (!moved) return 0;
    *data = moved;
    *capacity = grown;
    return 1;
}

/* Appends "[rank N] line\n"; 0 where memory is out. */
static int append_line(struct sink *sink, int number, const char *line, size_t length) {
    char mark[32];
    size_t mark_length = (size_t)snprintf(mark, sizeof mark, "[rank %d] ", number);
    size_t size = sink->waiting_size + mark_length + length + 1;
    if (!reserve(&sink->waiting, &sink->waiting_capacity, size)) return 0;
    char *to = sink->waiting + sink->waiting_size;
    memcpy(to, mark, mark_length);
    memcpy(to + mark_length, line, length);
    to[mark_length + length] = '\n';
    sink->waiting_size = size;
    return 1;
}

static void sink_add(struct sink *sink, int number, const char *line, size_t length) {
    if (sink->failed) return;
    pthread_mutex_lock(&sink->lock);
    int added = append_line(sink, number, line, length);
    pthread_cond_signal(&sink->more);
    pthread_mutex_unlock(&sink->lock);
    if (!added) give_up(sink, ENOMEM);
}

static int is_over_limit(struct sink *sink) {
    pthread_mutex_lock(&sink->lock);
    int over = sink->waiting_size > SINK_LIMIT;
    pthread_mutex_unlock(&sink->lock);
    return over;
}

/* ---- streams ---- */

static void keep_last_line(struct rank *rank, const char *line, size_t length) {
    char *to = rank->last_lines[rank->line_count++ % JOB_LAST_LINES];
    size_t kept = length < JOB_LAST_LINE_SIZE ? length : JOB_LAST_LINE_SIZE - 1;
    for (size_t i = 0; i < kept; i++) to[i] = line[i] ? line[i] : ' ';
    to[kept] = '\0';
}

static void finish_line(struct stream *stream, const char *line, size_t length) {
    sink_add(stream->sink, stream->rank->number, line, length);
    keep_last_line(stream->rank, line, length);
}

/* Appends to the unfinished line. */
static void keep_part(struct stream *stream, const char *data, size_t size) {
    while (size > 0) {
        size_t room = LONGEST_LINE - stream->length, taken = size < room ? size : room;
        if (!reserve(&stream->line, &stream->capacity, stream->length + taken)) {
            give_up(stream->sink, ENOMEM);
            return;
        }
        memcpy(stream->line + stream->length, data, taken);
        stream->length += taken;
        data += taken;
        size -= taken;
        if (stream->length == LONGEST_LINE) {
            finish_line(stream, stream->line, stream->length);
            stream->length = 0;
        }
    }
}

static void take(struct stream *stream, const char *data, size_t size) {
    const char *end;
    while (size > 0 && (end = memchr(data, '\n', size)) != NULL) {
        size_t length = (size_t)(end - data);
        if (stream->length > 0) {
            keep_part(stream, data, length);
            finish_line(stream, stream->line, stream->length);
            stream->length = 0;
        } else {
            finish_line(stream, data, length);
        }
        data = end + 1;
        size -= length + 1;
    }
    keep_part(stream, data, size);
}

static void allocate(uv_handle_t *pipe, size_t suggested, uv_buf_t *buffer) {
    struct stream *stream = pipe->data;
    (void)suggested;
    *buffer = uv_buf_init(stream->rank->job->buffer, sizeof stream->rank->job->buffer);
}

static void was_read(uv_stream_t *pipe, ssize_t size, const uv_buf_t *buffer) {
    struct stream *stream = pipe->data;
    struct sink *sink = stream->sink;
    if (size > 0) take(stream, buffer->base, (size_t)size);
    if (size < 0) stream_close(stream);
    if (!sink->full && is_over_limit(sink)) set_reading(sink, 0);
    if (size < 0) job_check_end(sink->job);
}

static void read_again(struct stream *stream) {
    uv_read_start((uv_stream_t *)&stream->pipe, allocate, was_read);
}

int stream_open(struct stream *stream, struct rank *rank, struct sink *sink, int fd) {
    memset(stream, 0, sizeof *stream);
    stream->rank = rank;
    stream->sink = sink;
    int rc = uv_pipe_init(&rank->job->loop, &stream->pipe, 0);
    stream->pipe.data = stream;
    if (rc == 0) rc = uv_pipe_open(&stream->pipe, fd);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    stream->is_open = 1;
    rank->job->streams++;
    if (!sink->full) read_again(stream);
    return 0;
}

void stream_close(struct stream *stream) {
    if (!stream->is_open) return;
    stream->is_open = 0;
    stream->rank->job->streams--;
    if (stream->length > 0) finish_line(stream, stream->line, stream->length);
    free(stream->line);
    stream->line = NULL;
    stream->length = 0;
    uv_close((uv_handle_t *)&stream->pipe, NULL);
}
