/* SPDX-License-Identifier: MIT
 *
 * One message of a mesh's pair: a header, a payload, at most SYMM__MESH_FDS descriptors. The
 * sockets are SOCK_SEQPACKET of one host, so a message is one packet in the host's byte order.
 */
#ifndef SYMM_SYMMEM_MESH_WIRE_H
#define SYMM_SYMMEM_MESH_WIRE_H

#include "symmem/mesh.h"

#define SYMM__MESH_MAGIC 0x4d4d5953u /* "SYMM" */
#define SYMM__MESH_VERSION 1

struct symm__mesh_header {
    uint32_t magic;
    uint16_t kind;
    uint16_t fd_mask; /* bit i: descriptor i is attached */
    uint32_t round;
};

/* The first message of who connects. */
struct symm__mesh_hello {
    uint32_t magic;
    uint32_t version;
    int32_t rank;
    int32_t world_size;
    char group[SYMM_GROUP_NAME_MAX + 1];
};

#define SYMM__MESH_NOTHING (-1)
#define SYMM__MESH_ENDED (-2)
#define SYMM__MESH_NO_ROOM (-3) /* for a descriptor, in this process */

/* 1 sent, 0 would block, -1 the peer is gone. Never waits, never raises SIGPIPE. */
int symm__mesh_send(int fd, const struct symm__mesh_message *message);
/* Bytes of payload, SYMM__MESH_NOTHING, _ENDED or _NO_ROOM. Never waits. On success every
 * fds_out[i] is a descriptor of the caller's or -1. */
int symm__mesh_receive(int fd, struct symm__mesh_header *head, void *data, size_t size,
                       int fds_out[SYMM__MESH_FDS]);

#endif
