/* SPDX-License-Identifier: MIT
 *
 * Log lines: `symm: [rank 1] WARN store: text` on standard error, or to a sink of the application.
 * SYMM_LOG=error|warn|info|debug chooses the level (default warn).
 */
#ifndef SYMM_LOG_H
#define SYMM_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

#define SYMM_LOG_LEVELS(X) X(ERROR, "error") X(WARN, "warn") X(INFO, "info") X(DEBUG, "debug")

enum symm_log_level {
#define SYMM_LOG_ENUM(name, text) SYMM_LOG_##name,
    SYMM_LOG_LEVELS(SYMM_LOG_ENUM)
#undef SYMM_LOG_ENUM
};

/* Receives one finished line without newline. May be called from any thread, one call at a time;
 * must not call this library. */
typedef void (*symm_log_sink)(void *context, enum symm_log_level level, const char *line);
/* Replaces the sink; NULL restores standard error. Any thread. */
void symm_set_log_sink(symm_log_sink sink, void *context);
void symm_set_log_level(enum symm_log_level level);
enum symm_log_level symm_log_level_now(void);
/* Puts the rank into the prefix of this process's lines; -1 (at start): no rank. */
void symm_set_log_rank(int rank);

#ifdef __cplusplus
}
#endif
#endif
