/* SPDX-License-Identifier: MIT
 *
 * Status codes: the one list of everything that can go wrong. Every function of the C API that
 * can fail returns 0 (SYMM_OK) or one of the negative codes below, and leaves the details in
 * symm_last_error(). Lua sees the same names, without prefix, as `err.code`.
 */
#ifndef SYMM_STATUS_H
#define SYMM_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, number, sentence): numbers are part of the ABI; append only. */
#define SYMM_STATUS_LIST(X)                                                    \
    X(TIMEOUT, 1, "a deadline passed")                                         \
    X(NETWORK, 2, "a connection could not be made or was lost")                \
    X(STORE, 3, "the store refused or could not serve a request")              \
    X(QUEUE_EMPTY, 4, "a queue was empty")                                     \
    X(INVALID, 5, "an argument is wrong")                                      \
    X(UNSUPPORTED, 6, "this combination is not supported")                     \
    X(PEER_DIED, 7, "another rank's process has ended")                        \
    X(MISMATCH, 8, "ranks disagree about a collective operation")              \
    X(ABORTED, 9, "the group or runtime was aborted")                          \
    X(INTERRUPTED, 10, "a signal interrupted a wait")                          \
    X(CLOSED, 11, "the object is closed")                                      \
    X(NOT_FOUND, 12, "no such name, file or key")                              \
    X(EXISTS, 13, "the name is taken")                                         \
    X(DESTROYED, 14, "the named object was destroyed")                         \
    X(LIMIT, 15, "a limit was exceeded")                                       \
    X(MISSING_PLUGIN, 16, "what was asked for needs a plugin that is missing") \
    X(OOM, 17, "memory is exhausted or over a limit")                          \
    X(CUDA, 18, "the CUDA driver or runtime reported an error")                \
    X(NCCL, 19, "NCCL reported an error")                                      \
    X(MPI, 20, "MPI reported an error")                                        \
    X(IO, 21, "the operating system reported an input or output error")        \
    X(SCRIPT, 22, "a Lua script raised an error of its own")

enum symm_status {
    SYMM_OK = 0,
#define SYMM_STATUS_ENUM(name, number, text) SYMM_E##name = -(number),
    SYMM_STATUS_LIST(SYMM_STATUS_ENUM)
#undef SYMM_STATUS_ENUM
};

/* The name of a code as Lua spells it ("TIMEOUT"); "OK" for 0, "UNKNOWN" for anything else. */
const char *symm_status_name(int code);
/* One sentence that says what a code means; never NULL. */
const char *symm_status_text(int code);

#ifdef __cplusplus
}
#endif
#endif
