/* SPDX-License-Identifier: MIT */
#include "store/wire.h"

#include <stdlib.h>

#include "base/error.h"

#define ROOM_WORTH_A_READ 32768

/* ---- little-endian numbers ---- */

void symm__wire_put_u32(void *to, uint32_t value) {
    unsigned char *at = to;
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> (8 * i));
}

void symm__wire_put_u64(void *to, uint64_t value) {
    unsigned char *at = to;
    for (int i = 0; i < 8; i++) at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get(const void *from, int bytes) {
    const unsigned char *at = from;
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)at[i] << (8 * i);
    return value;
}

void symm__wire_put_header(char to[SYMM__WIRE_HEADER_SIZE],
                           const struct symm__frame_header *header) {
    symm__wire_put_u32(to, header->length);
    symm__wire_put_u32(to + 4, (uint32_t)header->operation | (uint32_t)header->flags << 16);
    symm__wire_put_u64(to + 8, header->id);
}

static void get_header(const unsigned char *from, struct symm__frame_header *out) {
    out->length = (uint32_t)get(from, 4);
    out->operation = (uint16_t)get(from + 4, 2);
    out->flags = (uint16_t)get(from + 6, 2);
    out->id = get(from + 8, 8);
}

void symm__wire_greeting(char to[SYMM__WIRE_GREETING_SIZE]) {
    to[0] = SYMM__WIRE_VALIDATE;
    symm__wire_put_u32(to + 1, SYMM__WIRE_MAGIC);
    to[5] = SYMM__WIRE_PING;
    symm__wire_put_u32(to + 6, SYMM__WIRE_NONCE | SYMM__WIRE_VERSION);
}

/* ---- writing ---- */

void symm__buffer_free(struct symm__buffer *buffer) {
    free(buffer->data);
    memset(buffer, 0, sizeof *buffer);
}

static int reserve(struct symm__buffer *buffer, size_t size) {
    if (buffer->failed) return 0;
    if (size <= buffer->capacity - buffer->size) return 1;
    size_t capacity = buffer->capacity ? buffer->capacity : 128;
    while (capacity - buffer->size < size) {
        if (capacity > SIZE_MAX / 2) {
            buffer->failed = 1;
            return 0;
        }
        capacity *= 2;
    }
    char *data = realloc(buffer->data, capacity);
    if (!data) {
        buffer->failed = 1;
        return 0;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return 1;
}

void symm__buffer_append(struct symm__buffer *buffer, const void *data, size_t size) {
    if (!size || !reserve(buffer, size)) return;
    memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
}

void symm__buffer_u8(struct symm__buffer *buffer, uint8_t value) {
    symm__buffer_append(buffer, &value, 1);
}

void symm__buffer_u32(struct symm__buffer *buffer, uint32_t value) {
    char bytes[4];
    symm__wire_put_u32(bytes, value);
    symm__buffer_append(buffer, bytes, sizeof bytes);
}

void symm__buffer_u64(struct symm__buffer *buffer, uint64_t value) {
    char bytes[8];
    symm__wire_put_u64(bytes, value);
    symm__buffer_append(buffer, bytes, sizeof bytes);
}

/* ---- reading ---- */

struct symm_slice symm__cursor_slice(struct symm__cursor *cursor, size_t size) {
    struct symm_slice slice = {cursor->at, size};
    if (cursor->bad || size > cursor->left) {
        cursor->bad = 1;
        slice.size = 0;
        return slice;
    }
    cursor->at += size;
    cursor->left -= size;
    return slice;
}

struct symm_slice symm__cursor_rest(struct symm__cursor *cursor) {
    return symm__cursor_slice(cursor, cursor->left);
}

static uint64_t number(struct symm__cursor *cursor, int bytes) {
    struct symm_slice slice = symm__cursor_slice(cursor, (size_t)bytes);
    return cursor->bad ? 0 : get(slice.data, bytes);
}

uint8_t symm__cursor_u8(struct symm__cursor *cursor) { return (uint8_t)number(cursor, 1); }
uint32_t symm__cursor_u32(struct symm__cursor *cursor) { return (uint32_t)number(cursor, 4); }
uint64_t symm__cursor_u64(struct symm__cursor *cursor) { return number(cursor, 8); }

/* ---- frames out of a stream ---- */

void symm__frames_free(struct symm__frames *frames) {
    free(frames->payload);
    frames->payload = NULL;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static void take(const char **data, size_t *size, size_t count) {
    *data += count;
    *size -= count;
}

/* Makes room for what `more` bytes need, by doubling, never beyond the payload's length. */
static int grow(struct symm__frames *frames, size_t more) {
    size_t need = frames->have + more, capacity = frames->capacity;
    if (need <= capacity) return SYMM_OK;
    capacity = capacity ? capacity : 1024;
    while (capacity < need) capacity *= 2;
    capacity = least(capacity, frames->header.length);
    char *payload = realloc(frames->payload, capacity + 1); /* a value's closing 0 fits */
    if (!payload) return symm__fail_oom(capacity + 1);
    frames->payload = payload;
    frames->capacity = capacity;
    return SYMM_OK;
}

static void finish(struct symm__frames *frames, const char *payload, struct symm__frame *out) {
    out->header = frames->header;
    out->payload = payload;
    out->owned = frames->payload;
    frames->payload = NULL;
    frames->have = frames->capacity = frames->head_size = 0;
}

/* 1: the header is whole. */
static int feed_header(struct symm__frames *frames, const char **data, size_t *size) {
    if (frames->head_size == sizeof frames->head) return 1;
    size_t count = least(*size, sizeof frames->head - frames->head_size);
    if (count) memcpy(frames->head + frames->head_size, *data, count);
    frames->head_size += count;
    take(data, size, count);
    if (frames->head_size < sizeof frames->head) return 0;
    get_header(frames->head, &frames->header);
    return 1;
}

int symm__frames_filled(struct symm__frames *frames, size_t size, struct symm__frame *out) {
    frames->have += size;
    if (frames->have < frames->header.length) return 0;
    finish(frames, frames->payload, out);
    return 1;
}

int symm__frames_feed(struct symm__frames *frames, const char **data, size_t *size,
                      struct symm__frame *out) {
    size_t skipped = least(*size, frames->skip);
    frames->skip -= skipped;
    take(data, size, skipped);
    if (frames->skip || !feed_header(frames, data, size)) return 0;
    size_t length = frames->header.length;
    if (length > frames->limit) {
        frames->skip = length;
        finish(frames, NULL, out);
        return 1;
    }
    if (frames->have == 0 && *size >= length) {
        finish(frames, *data, out);
        take(data, size, length);
        return 1;
    }
    size_t count = least(*size, length - frames->have);
    int rc = grow(frames, count);
    if (rc < 0) return rc;
    if (count) memcpy(frames->payload + frames->have, *data, count);
    take(data, size, count);
    return symm__frames_filled(frames, count, out);
}

size_t symm__frames_room(struct symm__frames *frames, char **at_out) {
    if (frames->head_size < sizeof frames->head || frames->have == 0) return 0;
    size_t left = frames->header.length - frames->have;
    size_t room = frames->capacity - frames->have;
    if (left < ROOM_WORTH_A_READ) return 0;
    if (room < ROOM_WORTH_A_READ && grow(frames, ROOM_WORTH_A_READ) < 0) return 0;
    *at_out = frames->payload + frames->have;
    return least(left, frames->capacity - frames->have);
}
