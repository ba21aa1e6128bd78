/* SPDX-License-Identifier: MIT
 *
 * Keys in messages: any bytes come in, one readable line of bounded length goes out.
 */
#include <stdio.h>

#include "store/store.h"

#define KEYS_SHOWN 4
#define BYTES_SHOWN 48

struct text {
    char *at;
    size_t left; /* the closing 0 included */
};

static void append(struct text *text, const char *part) {
    size_t size = strlen(part);
    if (size >= text->left) size = text->left - 1;
    memcpy(text->at, part, size);
    text->at += size;
    text->left -= size;
    *text->at = '\0';
}

static void append_byte(struct text *text, unsigned char byte) {
    char escaped[8];
    const char *format =
        byte >= ' ' && byte < 127 && byte != '\'' && byte != '\\' ? "%c" : "\\x%02x";
    snprintf(escaped, sizeof escaped, format, byte);
    append(text, escaped);
}

static void append_key(struct text *text, struct symm_slice key) {
    const unsigned char *bytes = key.data;
    size_t shown = key.size < BYTES_SHOWN ? key.size : BYTES_SHOWN;
    append(text, "'");
    for (size_t i = 0; i < shown; i++) append_byte(text, bytes[i]);
    append(text, shown < key.size ? "...'" : "'");
}

void symm__store_key_text(const struct symm_slice *keys, size_t count, char *text, size_t size) {
    struct text out = {text, size};
    size_t shown = count < KEYS_SHOWN ? count : KEYS_SHOWN;
    *text = '\0';
    for (size_t i = 0; i < shown; i++) {
        if (i) append(&out, ", ");
        append_key(&out, keys[i]);
    }
    if (shown < count) {
        char more[40];
        snprintf(more, sizeof more, " and %zu more", count - shown);
        append(&out, more);
    }
}
