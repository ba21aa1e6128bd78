/* SPDX-License-Identifier: MIT
 *
 * The one parser for durations and sizes.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <symm/wait.h>

#include "base/error.h"

struct unit {
    const char *suffix;
    double factor;
};

static const struct unit durations[] = {{"ms", 1},     {"s", 1e3},    {"m", 60e3},
                                        {"min", 60e3}, {"h", 3600e3}, {NULL, 0}};
static const struct unit sizes[] = {{"B", 1},
                                    {"KiB", 1024.0},
                                    {"MiB", 1048576.0},
                                    {"GiB", 1073741824.0},
                                    {"TiB", 1099511627776.0},
                                    {"KB", 1e3},
                                    {"MB", 1e6},
                                    {"GB", 1e9},
                                    {"TB", 1e12},
                                    {"K", 1024.0},
                                    {"M", 1048576.0},
                                    {"G", 1073741824.0},
                                    {NULL, 0}};

static int factor_of(const struct unit *units, const char *suffix, double plain, double *out) {
    while (*suffix == ' ') suffix++;
    if (!*suffix) {
        *out = plain;
        return 1;
    }
    for (; units->suffix; units++) {
        if (strcmp(units->suffix, suffix) == 0) {
            *out = units->factor;
            return 1;
        }
    }
    return 0;
}

static int parse(const char *text, const char *what, const struct unit *units, double plain,
                 int64_t *out) {
    char *end = NULL;
    const char *start = text ? text : "";
    if (!isdigit((unsigned char)*start) && *start != '.') {
        return symm__fail(SYMM_EINVALID, "'%s' is not a %s", start, what);
    }
    double number = strtod(start, &end), factor = 0;
    /* strtod takes hexadecimal and "1e3" too: only what a person would write is a quantity. */
    int plain_number = strspn(start, "0123456789.") == (size_t)(end - start);
    if (end == start || !plain_number || !factor_of(units, end, plain, &factor)) {
        return symm__fail(SYMM_EINVALID, "'%s' is not a %s", start, what);
    }
    double value = ceil(number * factor);
    if (!(value < 9.2e18))
        return symm__fail(SYMM_ELIMIT, "'%s' is too large for a %s", start, what);
    *out = (int64_t)value;
    return SYMM_OK;
}

int symm_parse_duration(const char *text, int64_t default_unit_ms, int64_t *ms_out) {
    if (text && strcmp(text, "-1") == 0) {
        *ms_out = SYMM_TIMEOUT_NONE;
        return SYMM_OK;
    }
    return parse(text, "duration (250ms, 2s, 1.5m, 1h)", durations, (double)default_unit_ms,
                 ms_out);
}

int symm_parse_size(const char *text, int64_t *bytes_out) {
    return parse(text, "size (4096, 64KiB, 1.5GiB)", sizes, 1, bytes_out);
}
