/* SPDX-License-Identifier: MIT
 *
 * The mesh of a group: one Unix socket between each pair of its processes, open for the group's
 * life. It carries the records and descriptors of rendezvous, and its end of file is how a peer's
 * death is noticed, together with a pidfd where the peer's pid can be seen.
 *
 * NOTE mesh: how it comes to be. All names are keys of the group's own (prefixed) store.
 *   turn, token   who counts `turn` from 0 to 1 draws a random token and sets it; all others read
 * it rank/<r>      rank r's world_size and host Turn and token stay in the store: the token belongs
 * to the store and the group's name. Rank r listens on the abstract socket "symm-<token>-<r>" and
 * holds it for the group's life; so a second process with the same rank finds the name taken, while
 * a dead process or a group that has ended left it free. It connects to every lower rank and
 * accepts every higher one, with the peer's user id checked on both sides. Once all are accepted
 * the socket refuses further connections: they come from ranks that make a later group of the same
 * name already, and try again until this rank does so too. A last exchange (READY) tells all that
 * everybody is there.
 *
 * Invariant: a round of a collective exchange sends exactly one RECORD and then one DONE to each
 * peer, so messages of one pair never overtake each other; older rounds are dropped when met.
 * One thread at a time (the group's lock), but symm__mesh_check_peer may be called by any.
 */
#ifndef SYMM_SYMMEM_MESH_H
#define SYMM_SYMMEM_MESH_H

#include <stdatomic.h>
#include <stdint.h>
#include <symm/store.h>
#include <symm/symmem.h>
#include <sys/types.h>

#define SYMM__MESH_FDS 2
#define SYMM__MESH_PAYLOAD_MAX 480
#define SYMM__PROCESS_ID_SIZE 16

enum symm__mesh_kind { SYMM__MESH_READY = 1, SYMM__MESH_RECORD, SYMM__MESH_DONE, SYMM__MESH_BYE };

struct symm__peer {
    int fd;    /* -1 for this rank itself */
    int pidfd; /* -1: not visible */
    pid_t pid; /* 0: not visible */
    uint8_t process[SYMM__PROCESS_ID_SIZE];
};

struct symm__mesh {
    char group[SYMM_GROUP_NAME_MAX + 1];
    int rank;
    int world_size;
    const atomic_int *ended; /* of the group's info: the group has ended on this rank */
    atomic_int listen_fd;    /* relaxed: whoever takes it out closes it */
    int oversubscribed;      /* more ranks than CPUs that they may use together */
    uint32_t round;
    struct symm__peer *peers;
};

/* Collective. Errors: SYMM_ETIMEOUT naming the missing ranks, SYMM_EEXISTS for a rank that is
 * taken, SYMM_EUNSUPPORTED for ranks of another host, SYMM_EMISMATCH, SYMM_EPEER_DIED, and the
 * store's. */
int symm__mesh_open(const char *group, int rank, int world_size, symm_store *store,
                    const atomic_int *ended, int64_t deadline_ns, struct symm__mesh **out);
/* Takes the rank's record out of the group's store, so that a later group of the name may have
 * another size. Waits a second at most; a record that stays is no harm but for that. */
void symm__mesh_forget(int rank, symm_store *store);
/* Says goodbye: peers see that this rank has left, and its claim on the rank ends. The peers'
 * sockets stay valid for other threads. */
void symm__mesh_leave(struct symm__mesh *mesh);
/* Leaves and closes. NULL is ignored. */
void symm__mesh_close(struct symm__mesh *mesh);

/* All-gather of `size` bytes and SYMM__MESH_FDS descriptors (-1: none) from each rank: all[r *
 * size] and all_fds[r * SYMM__MESH_FDS] (the caller's to close, but for its own rank, which are its
 * own). `fds` and `all_fds` may both be NULL. `round` separates this collective from earlier ones.
 */
struct symm__mesh_message {
    enum symm__mesh_kind kind;
    uint32_t round;
    const void *data;
    size_t size;
    const int *fds;
};
int symm__mesh_exchange(struct symm__mesh *mesh, const struct symm__mesh_message *mine, void *all,
                        int *all_fds, const char *op, int64_t deadline_ns);
/* Sends to every peer without waiting for any; what cannot be sent at once is dropped. */
void symm__mesh_tell(struct symm__mesh *mesh, const struct symm__mesh_message *mine);

/* 0 while the peer lives; SYMM_EPEER_DIED once its process has ended, SYMM_ECLOSED once it has left
 * the group, both with the peer in the error. Any thread. */
int symm__mesh_check_peer(const struct symm__mesh *mesh, int peer, const char *op, int channel);

/* This process's random identity. */
const uint8_t *symm__process_id(void);

/* Writes "1, 3 and 5" for the ranks whose `present` byte is 0; cut to fit. Gives their number. */
int symm__list_missing(const uint8_t *present, int world_size, char *text, size_t size);

/* SYMM_ETIMEOUT: the ranks whose `present` byte is 0 "did not come within N s"; one alone is the
 * error's peer. */
int symm__fail_missing(const struct symm__mesh *mesh, const uint8_t *present, const char *op,
                       const char *what, int64_t begun_ns);

#endif
