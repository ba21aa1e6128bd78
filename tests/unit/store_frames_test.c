/* SPDX-License-Identifier: MIT
 *
 * Bytes into frames and numbers, and back.
 */
#include <stdlib.h>

#include "store/wire.h"
#include "tests/support/check.h"

static void put_frame(struct symm__buffer *to, uint16_t operation, uint64_t id, const void *payload,
                      size_t size) {
    char head[SYMM__WIRE_HEADER_SIZE];
    struct symm__frame_header header = {(uint32_t)size, operation, 0, id};
    symm__wire_put_header(head, &header);
    symm__buffer_append(to, head, sizeof head);
    symm__buffer_append(to, payload, size);
}

TEST(numbers_are_little_endian) {
    static const unsigned char want[] = {0x7F, 0x04, 0x03, 0x02, 0x01, 0x08, 0x07,
                                         0x06, 0x05, 0x04, 0x03, 0x02, 0x01};
    struct symm__buffer buffer = {NULL, 0, 0, 0};
    symm__buffer_u8(&buffer, 0x7F);
    symm__buffer_u32(&buffer, 0x01020304);
    symm__buffer_u64(&buffer, 0x0102030405060708);
    CHECK(buffer.size == sizeof want && memcmp(buffer.data, want, sizeof want) == 0);
    struct symm__cursor cursor = {buffer.data, buffer.size, 0};
    CHECK_UINT(symm__cursor_u8(&cursor), 0x7F);
    CHECK_UINT(symm__cursor_u32(&cursor), 0x01020304);
    CHECK_UINT(symm__cursor_u64(&cursor), 0x0102030405060708);
    CHECK_INT(cursor.bad, 0);
    CHECK_UINT(symm__cursor_rest(&cursor).size, 0);
    symm__buffer_free(&buffer);
}

TEST(a_header_on_the_wire) {
    static const unsigned char want[] = {4, 3, 2, 1, 6, 5, 8, 7, 16, 15, 14, 13, 12, 11, 10, 9};
    struct symm__frame_header header = {0x01020304, 0x0506, 0x0708, 0x090A0B0C0D0E0F10};
    struct symm__frames frames = {.limit = 0};
    struct symm__frame frame = {.owned = NULL};
    char head[SYMM__WIRE_HEADER_SIZE];
    symm__wire_put_header(head, &header);
    CHECK(memcmp(head, want, sizeof want) == 0);
    const char *data = head;
    size_t size = sizeof head;
    CHECK_INT(symm__frames_feed(&frames, &data, &size, &frame), 1);
    CHECK_UINT(frame.header.length, header.length);
    CHECK_UINT(frame.header.operation, header.operation);
    CHECK_UINT(frame.header.flags, header.flags);
    CHECK_UINT(frame.header.id, header.id);
    CHECK_NULL(frame.payload); /* over the limit */
}

TEST(reading_past_the_end_is_bad_for_good) {
    struct symm__cursor cursor = {"abcde", 5, 0};
    CHECK_UINT(symm__cursor_slice(&cursor, 5).size, 5);
    CHECK_INT(cursor.bad, 0);
    cursor = (struct symm__cursor){"abcde", 5, 0};
    CHECK_UINT(symm__cursor_slice(&cursor, 6).size, 0);
    CHECK_INT(cursor.bad, 1);
    CHECK_UINT(symm__cursor_u8(&cursor), 0);
    CHECK_UINT(symm__cursor_slice(&cursor, 1).size, 0);
    cursor = (struct symm__cursor){"abcdefg", 7, 0};
    CHECK_UINT(symm__cursor_u64(&cursor), 0);
    CHECK_INT(cursor.bad, 1);
}

TEST(payloads_at_the_limit_and_one_past) {
    struct symm__buffer stream = {NULL, 0, 0, 0};
    struct symm__frames frames = {.limit = 10};
    struct symm__frame frame = {.owned = NULL};
    put_frame(&stream, 1, 1, "0123456789", 10);
    put_frame(&stream, 1, 2, "0123456789A", 11);
    put_frame(&stream, 1, 3, NULL, 0);
    const char *data = stream.data;
    size_t size = stream.size;
    CHECK_INT(symm__frames_feed(&frames, &data, &size, &frame), 1);
    CHECK(frame.payload && memcmp(frame.payload, "0123456789", 10) == 0);
    CHECK_INT(symm__frames_feed(&frames, &data, &size, &frame), 1);
    CHECK_NULL(frame.payload);
    CHECK_INT(symm__frames_feed(&frames, &data, &size, &frame), 1);
    CHECK_UINT(frame.header.id, 3);
    CHECK_NOT_NULL(frame.payload);
    CHECK_INT(symm__frames_feed(&frames, &data, &size, &frame), 0);
    symm__buffer_free(&stream);
}

TEST(a_long_payload_is_read_in_place_and_whole) {
    enum { SIZE = 300000 };
    struct symm__buffer frame = {NULL, 0, 0, 0};
    struct symm__frames frames = {.limit = UINT32_MAX};
    struct symm__frame out = {.owned = NULL};
    char *body = malloc(SIZE), *at_out = NULL;
    for (int i = 0; i < SIZE; i++) body[i] = (char)(i * 7);
    put_frame(&frame, SYMM__WIRE_SET, 1, body, SIZE);
    const char *data = frame.data;
    size_t size = 100;
    CHECK_UINT(symm__frames_room(&frames, &at_out), 0);
    CHECK_INT(symm__frames_feed(&frames, &data, &size, &out), 0);
    int rc = 0;
    for (int turns = 0; rc == 0 && turns < 1000; turns++) {
        size_t left = frame.size - (size_t)(data - frame.data);
        size_t room = symm__frames_room(&frames, &at_out);
        CHECK(room <= left);
        if (room) {
            size_t part = room > 50000 ? 50000 : room;
            memcpy(at_out, data, part);
            data += part;
            rc = symm__frames_filled(&frames, part, &out);
        } else {
            rc = symm__frames_feed(&frames, &data, &left, &out);
        }
    }
    CHECK_INT(rc, 1);
    CHECK_UINT(out.header.length, SIZE);
    CHECK(out.owned && memcmp(out.owned, body, SIZE) == 0);
    free(out.owned);
    free(body);
    symm__frames_free(&frames);
    symm__buffer_free(&frame);
}
