/* SPDX-License-Identifier: MIT */
#include "tensor/npy_header.h"

#include <stdio.h>
#include <string.h>

#include "tensor/tensor.h"

static const char *const op = "npy";

static const char *const descriptions[SYMM_DTYPE_COUNT] = {
#define DESCRIPTION(name, type, bytes, kind, npy) npy,
    SYMM_DTYPE_LIST(DESCRIPTION)
#undef DESCRIPTION
};

/* ---- reading ---- */

int symm__npy_prefix(const char *path, const unsigned char *prefix, size_t *header_start_out,
                     size_t *header_size_out) {
    if (memcmp(prefix, "\x93NUMPY", 6) != 0) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID, "%.200s is not a .npy file", path);
    }
    int major = prefix[6], minor = prefix[7];
    if (major < 1 || major > 3 || minor != 0) {
        return symm__fail_at(SYMM__IN(op), SYMM_EUNSUPPORTED,
                             "%.200s has the format version %d.%d; 1.0 to 3.0 are read", path,
                             major, minor);
    }
    size_t size = (size_t)prefix[8] | (size_t)prefix[9] << 8;
    if (major > 1) size |= (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
    *header_start_out = major == 1 ? 10 : 12;
    *header_size_out = size;
    return SYMM_OK;
}

struct cursor {
    const char *path;
    const char *text;
    size_t size;
    size_t at;
};

static int malformed(const struct cursor *c, const char *wanted) {
    return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                         "%.200s has a malformed header: %s expected at its byte %zu", c->path,
                         wanted, c->at);
}

static int peek(const struct cursor *c) {
    return c->at < c->size ? (unsigned char)c->text[c->at] : -1;
}

static void skip_blanks(struct cursor *c) {
    while (peek(c) == ' ' || peek(c) == '\n' || peek(c) == '\t' || peek(c) == '\r') c->at++;
}

/* Skips blanks and takes that character if it comes next. */
static int take(struct cursor *c, char wanted) {
    skip_blanks(c);
    if (peek(c) != wanted) return 0;
    c->at++;
    return 1;
}

static int take_word(struct cursor *c, const char *word) {
    size_t length = strlen(word);
    skip_blanks(c);
    if (c->size - c->at < length || memcmp(c->text + c->at, word, length) != 0) return 0;
    c->at += length;
    return 1;
}

/* A quoted text without escapes, cut to fit. */
static int parse_string(struct cursor *c, char *out, size_t size) {
    skip_blanks(c);
    int quote = peek(c);
    if (quote != '\'' && quote != '"') return malformed(c, "a quoted text");
    size_t start = ++c->at;
    while (peek(c) != quote) {
        if (peek(c) < ' ') return malformed(c, "a closing quote");
        c->at++;
    }
    snprintf(out, size, "%.*s", (int)(c->at - start), c->text + start);
    c->at++;
    return SYMM_OK;
}

/* "<f4": '<' and '|' and '=' are the order of this machine, the only one there is. */
static int parse_descr(struct cursor *c, symm_dtype *out) {
    char text[16];
    skip_blanks(c);
    if (peek(c) == '[' || peek(c) == '{' || peek(c) == '(') {
        return symm__fail_at(SYMM__IN(op), SYMM_EUNSUPPORTED,
                             "%.200s holds structured elements, which are not supported", c->path);
    }
    int rc = parse_string(c, text, sizeof text);
    if (rc < 0) return rc;
    int is_native = text[0] == '<' || text[0] == '|' || text[0] == '=';
    for (int i = 0; i < SYMM_DTYPE_COUNT; i++) {
        if (strcmp(text + (text[0] != 0), descriptions[i] + 1) != 0) continue;
        if (is_native || symm_dtype_size((symm_dtype)i) == 1) {
            *out = (symm_dtype)i;
            return SYMM_OK;
        }
    }
    return symm__fail_at(
        SYMM__IN(op), SYMM_EUNSUPPORTED, "%.200s holds elements of type '%s', %s", c->path, text,
        text[0] == '>'      ? "which are big-endian: save x.astype(x.dtype.newbyteorder('<'))"
        : strchr(text, 'O') ? "which are pickled Python objects"
                            : "which are not supported");
}

static int parse_size(struct cursor *c, int64_t *out) {
    int64_t value = 0;
    skip_blanks(c);
    if (peek(c) < '0' || peek(c) > '9') return malformed(c, "a size");
    for (; peek(c) >= '0' && peek(c) <= '9'; c->at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, peek(c) - '0', &value)) {
            return malformed(c, "a size of 63 bits");
        }
    }
    if (peek(c) == 'L') c->at++; /* Python 2's long */
    *out = value;
    return SYMM_OK;
}

/* A tuple: "()", "(3,)", "(3, 4)". */
static int parse_shape(struct cursor *c, struct symm_npy_info *out) {
    int commas = 0;
    out->ndim = 0;
    if (!take(c, '(')) return malformed(c, "a shape in parentheses");
    while (!take(c, ')')) {
        if (out->ndim == SYMM_MAX_DIMS) {
            return symm__fail_at(SYMM__IN(op), SYMM_EUNSUPPORTED,
                                 "%.200s has more than %d dimensions", c->path, SYMM_MAX_DIMS);
        }
        if (out->ndim > commas) return malformed(c, "a comma");
        int rc = parse_size(c, &out->shape[out->ndim]);
        if (rc < 0) return rc;
        out->ndim++;
        commas += take(c, ',');
    }
    if (out->ndim == 1 && commas == 0) return malformed(c, "a tuple: (3,)");
    return SYMM_OK;
}

static int parse_order(struct cursor *c, int *out) {
    *out = take_word(c, "True");
    if (*out || take_word(c, "False")) return SYMM_OK;
    return malformed(c, "True or False");
}

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

static int parse_entry(struct cursor *c, struct symm_npy_info *out, int *seen) {
    char key[24];
    int rc = parse_string(c, key, sizeof key);
    if (rc < 0) return rc;
    if (!take(c, ':')) return malformed(c, "a colon");
    if (strcmp(key, "descr") == 0) {
        *seen |= HAS_DESCR;
        return parse_descr(c, &out->dtype);
    }
    if (strcmp(key, "fortran_order") == 0) {
        *seen |= HAS_ORDER;
        return parse_order(c, &out->fortran_order);
    }
    if (strcmp(key, "shape") == 0) {
        *seen |= HAS_SHAPE;
        return parse_shape(c, out);
    }
    return malformed(c, "descr, fortran_order or shape");
}

int symm__npy_parse(const char *path, const char *text, size_t size, struct symm_npy_info *out) {
    struct cursor c = {path, text, size, 0};
    struct symm_npy_info info = {0};
    int64_t numel = 0;
    int seen = 0;
    if (!take(&c, '{')) return malformed(&c, "a dict");
    while (!take(&c, '}')) {
        int rc = parse_entry(&c, &info, &seen);
        if (rc < 0) return rc;
        if (take(&c, ',')) continue;
        skip_blanks(&c);
        if (peek(&c) != '}') return malformed(&c, "a comma or the end of the dict");
    }
    skip_blanks(&c);
    if (c.at != c.size) return malformed(&c, "the end");
    if (seen != HAS_ALL) {
        return symm__fail_at(SYMM__IN(op), SYMM_EINVALID,
                             "%.200s has a header without descr, fortran_order or shape", path);
    }
    int rc = symm__shape_check(op, info.shape, info.ndim, info.dtype, &numel);
    if (rc < 0) return rc;
    *out = info;
    return SYMM_OK;
}

/* ---- writing ---- */

size_t symm__npy_format(const struct symm_npy_info *info, char text[SYMM__NPY_WRITE_MAX]) {
    static const char prefix[8] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
    char shape[SYMM_MAX_DIMS * 24] = "";
    size_t used = 0;
    for (int i = 0; i < info->ndim; i++) {
        int n = snprintf(shape + used, sizeof shape - used, "%s%lld%s", i ? ", " : "",
                         (long long)info->shape[i], info->ndim == 1 ? "," : "");
        used += (size_t)n; /* a size has at most 19 digits */
    }
    int n = snprintf(text + 10, SYMM__NPY_WRITE_MAX - 10,
                     "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }",
                     descriptions[info->dtype], info->fortran_order ? "True" : "False", shape);
    size_t end = 10 + (size_t)n, size = (end + 1 + 63) / 64 * 64;
    memset(text + end, ' ', size - end - 1);
    text[size - 1] = '\n';
    memcpy(text, prefix, sizeof prefix);
    text[8] = (char)((size - 10) & 0xff);
    text[9] = (char)((size - 10) >> 8);
    return size;
}
