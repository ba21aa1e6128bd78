/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t sink_lock = PTHREAD_MUTEX_INITIALIZER;
static symm_log_sink sink; /* NULL: standard error; under sink_lock, as its context */
static void *sink_context;
/* -1: not yet read from SYMM_LOG. Relaxed: a level is a number by itself. */
static atomic_int level_now = -1;
static atomic_int rank_now = -1;

static int level_from_environment(void) {
    const char *text = getenv("SYMM_LOG");
    if (!text) return SYMM_LOG_WARN;
#define MATCH(name, word) \
    if (strcmp(text, word) == 0) return SYMM_LOG_##name;
    SYMM_LOG_LEVELS(MATCH)
#undef MATCH
    fprintf(stderr, "symm: SYMM_LOG=%s is not error, warn, info or debug; warn is used\n", text);
    return SYMM_LOG_WARN;
}

enum symm_log_level symm_log_level_now(void) {
    int level = atomic_load_explicit(&level_now, memory_order_relaxed);
    if (level < 0) {
        level = level_from_environment();
        atomic_store_explicit(&level_now, level, memory_order_relaxed);
    }
    return (enum symm_log_level)level;
}

void symm_set_log_level(enum symm_log_level level) {
    atomic_store_explicit(&level_now, (int)level, memory_order_relaxed);
}

void symm_set_log_rank(int rank) { atomic_store_explicit(&rank_now, rank, memory_order_relaxed); }

void symm_set_log_sink(symm_log_sink new_sink, void *context) {
    pthread_mutex_lock(&sink_lock);
    sink = new_sink;
    sink_context = context;
    pthread_mutex_unlock(&sink_lock);
}

static const char *level_word(enum symm_log_level level) {
    switch (level) {
    case SYMM_LOG_ERROR: return "ERROR";
    case SYMM_LOG_WARN: return "WARN";
    case SYMM_LOG_INFO: return "INFO";
    default: return "DEBUG";
    }
}

void symm__log(enum symm_log_level level, const char *area, const char *format, ...) {
    if (level > symm_log_level_now()) return;
    char text[1024], line[1200], rank_text[32] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    int rank = atomic_load_explicit(&rank_now, memory_order_relaxed);
    if (rank >= 0) snprintf(rank_text, sizeof rank_text, "[rank %d] ", rank);
    snprintf(line, sizeof line, "symm: %s%s %s: %s", rank_text, level_word(level), area, text);
    pthread_mutex_lock(&sink_lock);
    if (sink) {
        sink(sink_context, level, line);
    } else {
        fprintf(stderr, "%s\n", line);
    }
    pthread_mutex_unlock(&sink_lock);
}
