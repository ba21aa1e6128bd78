/* SPDX-License-Identifier: MIT
 *
 * The ranks' lines. A line is written whole, after its rank's mark, and only once it is finished;
 * the last one of a rank may lack its end and gets one. Bytes are not looked at, but for '\n'.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lua/symmrun/job.h"

/* Longer lines are cut into pieces of this size. */
#define LONGEST_LINE ((size_t)1 << 20)
/* The ranks wait while more than this is waiting to be written. */
#define SINK_LIMIT ((size_t)1 << 20)
#define RETRY_MS 10

/* ---- sinks ---- */

static void write_more(struct sink *sink);

void sink_open(struct sink *sink, struct job *job, int fd) {
    memset(sink, 0, sizeof *sink);
    sink->job = job;
    sink->fd = fd;
    uv_timer_init(&job->loop, &sink->again);
    sink->again.data = sink;
}

void sink_close(struct sink *sink) {
    uv_close((uv_handle_t *)&sink->again, NULL);
    free(sink->waiting);
    free(sink->writing);
    sink->waiting = sink->writing = NULL;
}

int sink_is_idle(const struct sink *sink) { return !sink->busy && !sink->waiting_size; }

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
    sink->failed = 1;
    sink->waiting_size = 0;
    if (error != UV_EPIPE) {
        symmrun_say("%s cannot be written: %s",
                    sink->fd == STDOUT_FILENO ? "standard output" : "standard error",
                    uv_strerror(error));
    }
    job_stop(sink->job, SIGTERM);
}

static void retry(uv_timer_t *timer) { write_more(timer->data); }

static void wrote(uv_fs_t *request) {
    struct sink *sink = request->data;
    ssize_t result = request->result;
    uv_fs_req_cleanup(request);
    if (result == UV_EAGAIN || result == UV_EINTR) { /* somebody made it non-blocking */
        uv_timer_start(&sink->again, retry, RETRY_MS, 0);
        return;
    }
    if (result < 0) {
        sink->writing_size = sink->written = 0;
        give_up(sink, (int)result);
    } else {
        sink->written += (size_t)result;
    }
    sink->busy = 0;
    write_more(sink);
    if (sink->full && sink->waiting_size < SINK_LIMIT / 2) set_reading(sink, 1);
    job_check_end(sink->job);
}

static void swap_buffers(struct sink *sink) {
    char *data = sink->writing;
    size_t capacity = sink->writing_capacity;
    sink->writing = sink->waiting;
    sink->writing_size = sink->waiting_size;
    sink->writing_capacity = sink->waiting_capacity;
    sink->written = 0;
    sink->waiting = data;
    sink->waiting_size = 0;
    sink->waiting_capacity = capacity;
}

static void write_more(struct sink *sink) {
    if (sink->written == sink->writing_size) {
        if (!sink->waiting_size) return;
        swap_buffers(sink);
    }
    sink->busy = 1;
    sink->request.data = sink;
    uv_buf_t rest =
        uv_buf_init(sink->writing + sink->written, (unsigned)(sink->writing_size - sink->written));
    int rc = uv_fs_write(&sink->job->loop, &sink->request, sink->fd, &rest, 1, -1, wrote);
    if (rc < 0) {
        sink->busy = 0;
        sink->written = sink->writing_size;
        give_up(sink, rc);
    }
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

static void sink_add(struct sink *sink, int number, const char *line, size_t length) {
    char mark[32];
    size_t mark_length = (size_t)snprintf(mark, sizeof mark, "[rank %d] ", number);
    size_t size = sink->waiting_size + mark_length + length + 1;
    if (sink->failed) return;
    if (!reserve(&sink->waiting, &sink->waiting_capacity, size)) {
        give_up(sink, UV_ENOMEM);
        return;
    }
    char *to = sink->waiting + sink->waiting_size;
    memcpy(to, mark, mark_length);
    memcpy(to + mark_length, line, length);
    to[mark_length + length] = '\n';
    sink->waiting_size = size;
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
            give_up(stream->sink, UV_ENOMEM);
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
    if (!sink->busy && !uv_is_active((uv_handle_t *)&sink->again)) write_more(sink);
    if (!sink->full && sink->waiting_size > SINK_LIMIT) set_reading(sink, 0);
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
