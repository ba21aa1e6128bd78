/* SPDX-License-Identifier: MIT
 *
 * What travels between a tcp store's client and its daemon. No input or output here.
 *
 * A connection opens with the handshake of PyTorch's store: the client sends VALIDATE and PING, the
 * daemon answers the nonce. A nonce of ours (0x53594D00 | version) is answered with 0x4D595300 |
 * version, and from then on both sides send frames; any other nonce is echoed, and the connection
 * speaks PyTorch's plain protocol for good. All numbers are little-endian.
 *
 * A frame is a header (u32 length of the payload, u16 operation, u16 flags, u64 id) and a payload.
 * Requests carry an id of the client's choice; every request but CANCEL, LEAVE and GOODBYE is
 * answered by exactly one frame with its operation, its id and REPLY set. CANCEL has the id of the
 * request to be cancelled: if that still waits, it is answered with CANCELLED. Payloads:
 *
 *     SET      u32 key size, key, value     ->  nothing
 *     GET      key                          ->  value, once the key exists
 *     ADD      i64 amount, key              ->  i64 sum
 *     CHECK    u32 count, (u32 size, key)*  ->  u8 1 if all exist
 *     WAIT     u32 count, (u32 size, key)*  ->  nothing, once all exist at one time
 *     NUM_KEYS prefix                       ->  i64
 *     DELETE   key                          ->  u8 1 if it was there
 *     JOIN     nothing                      ->  nothing; counts the client as a worker
 *     LEAVE    the client ends in order     (no answer)
 *     HELLO    the daemon's first frame: u32 version, u32 capabilities, u64 limits of key, value,
 *              keys a request, memory, payload of a frame
 *     GOODBYE  the daemon ends in order
 *     ERROR set: i32 status code, message
 */
#ifndef SYMM_STORE_WIRE_H
#define SYMM_STORE_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <symm/store.h>

#define SYMM__WIRE_VERSION 1
#define SYMM__WIRE_MAGIC 0x3C85F7CEu
#define SYMM__WIRE_VALIDATE 0x00
#define SYMM__WIRE_PING 0x0D
#define SYMM__WIRE_NONCE 0x53594D00u
#define SYMM__WIRE_ANSWER 0x4D595300u
#define SYMM__WIRE_GREETING_SIZE 10
#define SYMM__WIRE_HEADER_SIZE 16
#define SYMM__WIRE_HELLO_SIZE 48

/* X(NAME, number). Numbers are part of the wire; append only. */
#define SYMM__WIRE_OPERATIONS(X) \
    X(SET, 1)                    \
    X(GET, 3)                    \
    X(ADD, 4)                    \
    X(CHECK, 5)                  \
    X(WAIT, 6)                   \
    X(NUM_KEYS, 7)               \
    X(DELETE, 8)                 \
    X(CANCEL, 12)                \
    X(JOIN, 32)                  \
    X(LEAVE, 33)                 \
    X(HELLO, 64)                 \
    X(GOODBYE, 65)

enum symm__wire_operation {
#define SYMM__WIRE_ENUM(name, number) SYMM__WIRE_##name = (number),
    SYMM__WIRE_OPERATIONS(SYMM__WIRE_ENUM)
#undef SYMM__WIRE_ENUM
};

enum symm__wire_flags {
    SYMM__WIRE_REPLY = 1,
    SYMM__WIRE_ERROR = 2,
    SYMM__WIRE_CANCELLED = 4,
};

/* ---- writing ---- */

/* Bytes that grow. `failed`: memory ran out; appending goes on doing nothing. */
struct symm__buffer {
    char *data;
    size_t size, capacity;
    int failed;
};
void symm__buffer_free(struct symm__buffer *buffer);
void symm__buffer_append(struct symm__buffer *buffer, const void *data, size_t size);
void symm__buffer_u8(struct symm__buffer *buffer, uint8_t value);
void symm__buffer_u32(struct symm__buffer *buffer, uint32_t value);
void symm__buffer_u64(struct symm__buffer *buffer, uint64_t value);

struct symm__frame_header {
    uint32_t length;
    uint16_t operation;
    uint16_t flags;
    uint64_t id;
};
void symm__wire_put_u32(void *to, uint32_t value);
void symm__wire_put_u64(void *to, uint64_t value);
void symm__wire_put_header(char to[SYMM__WIRE_HEADER_SIZE],
                           const struct symm__frame_header *header);
void symm__wire_greeting(char to[SYMM__WIRE_GREETING_SIZE]);

/* ---- reading ---- */

/* Walks through a payload. `bad`: something was cut short; all later values are 0. */
struct symm__cursor {
    const char *at;
    size_t left;
    int bad;
};
uint8_t symm__cursor_u8(struct symm__cursor *cursor);
uint32_t symm__cursor_u32(struct symm__cursor *cursor);
uint64_t symm__cursor_u64(struct symm__cursor *cursor);
struct symm_slice symm__cursor_slice(struct symm__cursor *cursor, size_t size);
struct symm_slice symm__cursor_rest(struct symm__cursor *cursor);

/* A whole frame. The payload is borrowed from what was fed, or `owned` memory of the receiver. */
struct symm__frame {
    struct symm__frame_header header;
    const char *payload; /* NULL: over the limit, and skipped */
    char *owned;
};

/* Cuts a stream into frames: remembers where it is, never reads a byte twice, holds at most one
 * payload, and of that no more than has arrived (doubled). Zero it, set `limit`. */
struct symm__frames {
    size_t limit; /* the longest payload that is taken */
    unsigned char head[SYMM__WIRE_HEADER_SIZE];
    size_t head_size;
    struct symm__frame_header header;
    char *payload;
    size_t have, capacity;
    size_t skip; /* bytes of an oversized payload that are still to come */
};
/* Takes bytes from *data up to the end of one frame. 1: *out is filled; free out->owned. 0: all
 * bytes were taken, more are needed. SYMM_EOOM. */
int symm__frames_feed(struct symm__frames *frames, const char **data, size_t *size,
                      struct symm__frame *out);
/* Where the next bytes of a long payload may be read to directly, to be told by frames_filled;
 * 0 bytes of room when the payload is short or not begun. */
size_t symm__frames_room(struct symm__frames *frames, char **at_out);
/* As symm__frames_feed, for `size` bytes read to where symm__frames_room said. */
int symm__frames_filled(struct symm__frames *frames, size_t size, struct symm__frame *out);
void symm__frames_free(struct symm__frames *frames);

#endif
