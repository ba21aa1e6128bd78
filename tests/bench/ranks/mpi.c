/* SPDX-License-Identifier: MIT
 *
 * The peer over MPI; mpirun starts and binds its ranks.
 *   mpi signal|barrier|rendezvous TURNS BATCHES WARMUPS
 * signal: ping-pong of messages of 0 and of 1 byte. barrier: MPI_Barrier. rendezvous: a shared
 * window of 1 MiB a rank, allocated, looked up and touched.
 */
#include <mpi.h>

#include "tests/bench/support/sample.h"

#define BLOCK_BYTES (1 << 20)
#define HEAD_START_NS 20000000

struct rank {
    int rank, world, bytes;
    char byte;
};

static int send(struct rank *r) {
    return MPI_Send(&r->byte, r->bytes, MPI_BYTE, 1 - r->rank, 0, MPI_COMM_WORLD);
}

static int receive(struct rank *r) {
    return MPI_Recv(&r->byte, r->bytes, MPI_BYTE, 1 - r->rank, 0, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE);
}

static int signal_turn(void *context) {
    struct rank *r = context;
    int rc = r->rank == 0 ? send(r) : receive(r);
    if (rc) return rc;
    return r->rank == 0 ? receive(r) : send(r);
}

static int measure_signal(struct rank *r, const struct sample_plan *plan) {
    r->bytes = 0;
    int rc = sample_run("openmpi_0B", r->rank, plan, 2, signal_turn, r);
    if (rc) return rc;
    r->bytes = 1;
    return sample_run("openmpi_1B", r->rank, plan, 2, signal_turn, r);
}

static int barrier_turn(void *context) {
    (void)context;
    return MPI_Barrier(MPI_COMM_WORLD);
}

/* All ranks begin at one time, which rank 0 gives. */
static int start_together(int64_t *start_ns_out) {
    int rc = MPI_Barrier(MPI_COMM_WORLD);
    int64_t start = sample_now_ns() + HEAD_START_NS;
    if (rc == MPI_SUCCESS) rc = MPI_Bcast(&start, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    if (rc == MPI_SUCCESS) sample_sleep_until(start);
    *start_ns_out = start;
    return rc;
}

static int open_window(struct rank *r, MPI_Win *window) {
    void *mine = NULL, *base = NULL;
    int rc = MPI_Win_allocate_shared(BLOCK_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, window);
    for (int peer = 0; peer < r->world && rc == MPI_SUCCESS; peer++) {
        MPI_Aint bytes;
        int unit;
        rc = MPI_Win_shared_query(*window, peer, &bytes, &unit, &base);
    }
    if (rc == MPI_SUCCESS) sample_touch(mine, BLOCK_BYTES);
    return rc;
}

static int measure_rendezvous(struct rank *r, const struct sample_plan *plan) {
    for (long batch = -plan->warmups; batch < plan->batches; batch++) {
        MPI_Win window;
        int64_t start;
        int rc = start_together(&start);
        if (rc == MPI_SUCCESS) rc = open_window(r, &window);
        if (rc != MPI_SUCCESS) return rc;
        double ns = (double)(sample_now_ns() - start);
        if (batch >= 0) sample_report("openmpi", r->rank, ns);
        rc = MPI_Win_free(&window);
        if (rc != MPI_SUCCESS) return rc;
    }
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    struct sample_plan plan;
    struct rank r = {0};
    int rc = 2;
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return EXIT_FAILURE;
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r.world);
    if (argc == 5 && sample_read_plan(argv + 2, &plan) == 0) {
        if (strcmp(argv[1], "signal") == 0 && r.world == 2) rc = measure_signal(&r, &plan);
        if (strcmp(argv[1], "barrier") == 0) {
            rc = sample_run("openmpi", r.rank, &plan, 1, barrier_turn, NULL);
        }
        if (strcmp(argv[1], "rendezvous") == 0) rc = measure_rendezvous(&r, &plan);
    }
    if (rc) MPI_Abort(MPI_COMM_WORLD, rc);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
