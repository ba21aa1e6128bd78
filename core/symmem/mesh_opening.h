/* SPDX-License-Identifier: MIT
 *
 * What the two halves of opening a mesh share: connecting to lower ranks (mesh_open.c) and
 * accepting higher ones (mesh_accept.c).
 */
#ifndef SYMM_SYMMEM_MESH_OPENING_H
#define SYMM_SYMMEM_MESH_OPENING_H

#include "base/error.h"
#include "symmem/mesh_wire.h"

#define SYMM__TOKEN_TEXT_SIZE 33

struct symm__opening {
    struct symm__mesh *mesh;
    symm_store *store;
    int64_t begun_ns;
    int64_t deadline_ns;
    char token[SYMM__TOKEN_TEXT_SIZE];
};

static inline struct symm__where symm__mesh_where(const struct symm__mesh *mesh, int peer) {
    return (struct symm__where){"rendezvous", mesh->group, mesh->rank, peer, -1, -1};
}

/* What every wait of the opening looks at: SYMM_ECLOSED once the group has ended here, or the wait
 * hook's error. */
int symm__mesh_opening_poll(const struct symm__opening *o);
/* The kernel's word on who is at the other end; 0 for another user. */
int symm__mesh_same_user(int fd, pid_t *pid_out);
void symm__mesh_set_peer(struct symm__mesh *mesh, int rank, int fd, pid_t pid);
/* Until every higher rank has connected. */
int symm__mesh_accept_all(struct symm__opening *o);

#endif
