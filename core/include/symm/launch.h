/* SPDX-License-Identifier: MIT
 *
 * Where this process stands in its job, read from what its launcher exported.
 */
#ifndef SYMM_LAUNCH_H
#define SYMM_LAUNCH_H

#include <stdint.h>

#include <symm/store.h>

#ifdef __cplusplus
extern "C" {
#endif

struct symm_launch {
    const char *launcher; /* "env", "openmpi", "pmi", "slurm", "none"; static text */
    int rank;
    int world_size;
    int local_rank;       /* -1: unknown */
    int local_world_size; /* -1: unknown */
    char host[256];       /* where the store is: a host, or "@name", an abstract Unix socket */
    int port;             /* -1 with "@name" and for one rank without an address */
};

/* Reads the environment. Sets of variables are taken whole, in this order:
 *   RANK with WORLD_SIZE; OMPI_COMM_WORLD_RANK with _SIZE; PMI_RANK with PMI_SIZE; SLURM_PROCID
 *   with SLURM_NTASKS inside a step. Half a set is SYMM_EINVALID naming the missing half.
 * No set at all: one rank. The address is MASTER_ADDR and MASTER_PORT (both or none); without it,
 * and if all ranks are on this host, an abstract socket named from uid and job; else SYMM_EINVALID
 * with the words to type. `get` reads a variable (NULL: getenv). */
typedef const char *(*symm_getenv)(void *context, const char *name);
int symm_launch_detect(symm_getenv get, void *context, struct symm_launch *out);
/* The store of that place: rank 0 runs the daemon (on the descriptor SYMM_MASTER_LISTEN_FD if that
 * is set), the others connect; one rank without an address gets a hash store. */
int symm_launch_open_store(const struct symm_launch *launch, int64_t timeout_ms, symm_store **out);

#ifdef __cplusplus
}
#endif
#endif
