/* SPDX-License-Identifier: MIT
 *
 * The launcher's variables. A set is taken whole or not at all, and never mixed with another: under
 * a launcher inside of an allocation, several sets are there, and only the innermost is right.
 */
#include <symm/launch.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "store/rendezvous.h"

enum launcher { ENV, OPENMPI, PMI, SLURM, SET_COUNT };

struct set {
    const char *launcher;
    const char *rank, *size, *local_rank, *local_size;
    const char *words; /* how its user gives the ranks an address */
};

static const struct set sets[SET_COUNT] = {
    [ENV] = {"env", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
             "export MASTER_ADDR=HOST_OF_RANK_0 MASTER_PORT=29500"},
    [OPENMPI] = {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                 "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
                 "mpirun -x MASTER_ADDR=HOST_OF_RANK_0 -x MASTER_PORT=29500"},
    [PMI] = {"pmi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
             "mpirun -genv MASTER_ADDR HOST_OF_RANK_0 -genv MASTER_PORT 29500"},
    [SLURM] = {"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", NULL,
               "export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1) "
               "MASTER_PORT=29500"},
};

struct reader {
    symm_getenv get;
    void *context;
};

static const char *from_process(void *context, const char *name) {
    (void)context;
    return getenv(name);
}

/* NULL for an absent or empty variable. */
static const char *read_text(const struct reader *reader, const char *name) {
    const char *text = name ? reader->get(reader->context, name) : NULL;
    return text && *text ? text : NULL;
}

/* Decimal digits alone; -1 for anything else and for more than `most`. */
static int64_t parse_number(const char *text, int64_t most) {
    int64_t number = 0;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9') return -1;
        number = number * 10 + (*at - '0');
        if (number > most) return -1;
    }
    return *text ? number : -1;
}

/* `otherwise` where it is absent. */
static int read_number(const struct reader *reader, const char *name, int64_t least, int64_t most,
                       int otherwise, int *out) {
    const char *text = read_text(reader, name);
    int64_t number = text ? parse_number(text, most) : otherwise;
    if (text && number < least) {
        return symm__fail(SYMM_EINVALID, "%s=%.100s is not a number from %lld to %lld", name, text,
                          (long long)least, (long long)most);
    }
    *out = (int)number;
    return SYMM_OK;
}

/* ---- SLURM ---- */

/* The number of the step that this process is a task of. The batch script, an interactive shell and
 * the like have steps of their own, numbered from the top; their SLURM_PROCID says nothing. */
static const char *slurm_step(const struct reader *reader) {
    const int64_t first_reserved = INT64_C(0xfffffff0);
    const char *step = read_text(reader, "SLURM_STEP_ID");
    if (!step) step = read_text(reader, "SLURM_STEPID");
    return step && parse_number(step, first_reserved - 1) >= 0 ? step : NULL;
}

static int is_one_node_step(const struct reader *reader) {
    const char *nodes = read_text(reader, "SLURM_STEP_NUM_NODES");
    if (!nodes) nodes = read_text(reader, "SLURM_NNODES");
    return slurm_step(reader) && nodes && strcmp(nodes, "1") == 0;
}

/* ---- rank and size ---- */

/* 1 if both are there, 0 if none is (or not inside of a step), or an error. */
static int has_set(const struct reader *reader, enum launcher launcher) {
    const struct set *set = &sets[launcher];
    const char *rank = read_text(reader, set->rank), *size = read_text(reader, set->size);
    if (launcher == SLURM && !slurm_step(reader)) return 0;
    if (!rank && !size) return 0;
    if (rank && size) return 1;
    return symm__fail(SYMM_EINVALID, "%s is set, but %s is not; a launcher sets both",
                      rank ? set->rank : set->size, rank ? set->size : set->rank);
}

static int read_set(const struct reader *reader, enum launcher launcher, struct symm_launch *to) {
    const struct set *set = &sets[launcher];
    int rc = read_number(reader, set->size, 1, INT_MAX, 0, &to->world_size);
    if (rc < 0) return rc;
    rc = read_number(reader, set->rank, 0, to->world_size - 1, 0, &to->rank);
    if (rc < 0) return rc;
    rc = read_number(reader, set->local_size, 1, to->world_size, -1, &to->local_world_size);
    if (rc < 0) return rc;
    if (launcher != ENV && to->local_world_size < 0 && is_one_node_step(reader)) {
        to->local_world_size = to->world_size;
    }
    int most = to->local_world_size > 0 ? to->local_world_size - 1 : to->world_size - 1;
    to->launcher = set->launcher;
    return read_number(reader, set->local_rank, 0, most, -1, &to->local_rank);
}

/* ---- the job's name, for ranks of one host ---- */

/* The fields of /proc/PID/stat that are asked for; 0 if the process is gone. */
static int read_stat(int pid, char comm[64], int *parent_out, unsigned long long *start_out) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    if (size <= 0) return 0;
    text[size] = '\0';
    char *name = strchr(text, '('), *end = strrchr(text, ')'); /* the name may have any bytes */
    if (!name || !end) return 0;
    snprintf(comm, 64, "%.*s", (int)(end - name - 1), name + 1);
    return sscanf(
               end + 1,
               " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               parent_out, start_out) == 2;
}

/* The process that all ranks of a host descend from: MPICH's proxy, also where a shell stands
 * between it and the rank; else the parent. Its start time tells it from an earlier one of the same
 * number. */
static int name_by_ancestor(char *name, size_t size) {
    enum { GENERATIONS = 16 };
    char comm[64];
    unsigned long long start = 0, parent_start = 0;
    int pid = getppid(), parent_pid = pid, next = 0;
    for (int i = 0; i < GENERATIONS && pid > 1 && read_stat(pid, comm, &next, &start); i++) {
        if (i == 0) parent_start = start;
        if (strncmp(comm, "hydra_pmi_prox", 14) == 0) {
            snprintf(name, size, "parent-%d-%llu", pid, start);
            return 1;
        }
        pid = next;
    }
    if (!parent_start) return 0;
    snprintf(name, size, "parent-%d-%llu", parent_pid, parent_start);
    return 1;
}

/* What only the ranks of this job have in common; 0 where nothing says. */
static int name_job(const struct reader *reader, enum launcher launcher, char *name, size_t size) {
    const char *space = read_text(reader, "PMIX_NAMESPACE");
    const char *job = read_text(reader, "SLURM_JOB_ID"), *step = slurm_step(reader);
    if (space && launcher != SLURM) {
        snprintf(name, size, "pmix-%s", space);
        return 1;
    }
    /* MPICH's own launcher, which may itself run in a step that it shares with other jobs. */
    if (launcher == PMI && read_text(reader, "MPI_LOCALNRANKS"))
        return name_by_ancestor(name, size);
    if (!job || !step) return 0;
    snprintf(name, size, "slurm-%s.%s", job, step);
    return 1;
}

static uint64_t hash(const char *text) {
    uint64_t sum = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *text; text++) sum = (sum ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return sum;
}

/* ---- the address ---- */

static int fail_address(const struct symm_launch *launch, enum launcher launcher) {
    return symm__fail(
        SYMM_EINVALID,
        "rank %d of %d (variables of %s) does not know where rank 0 is: the ranks are "
        "not known to be on one host, and MASTER_ADDR and MASTER_PORT are not set; "
        "type: %s",
        launch->rank, launch->world_size, launch->launcher, sets[launcher].words);
}

static int name_socket(const struct reader *reader, enum launcher launcher,
                       struct symm_launch *launch) {
    char job[256];
    int is_one_host = launch->local_world_size == launch->world_size;
    if (!is_one_host || !name_job(reader, launcher, job, sizeof job)) {
        return fail_address(launch, launcher);
    }
    unsigned uid = (unsigned)geteuid();
    if (strlen(job) <= 64) {
        snprintf(launch->host, sizeof launch->host, "@symm-job-%u-%.64s", uid, job);
    } else { /* an abstract name has 107 bytes at most */
        snprintf(launch->host, sizeof launch->host, "@symm-job-%u-%.40s-%016llx", uid, job,
                 (unsigned long long)hash(job));
    }
    launch->port = -1;
    return SYMM_OK;
}

/* 1 if MASTER_ADDR and MASTER_PORT give an address, 0 if both are absent. */
static int read_address(const struct reader *reader, struct symm_launch *launch) {
    const char *host = read_text(reader, "MASTER_ADDR"), *port = read_text(reader, "MASTER_PORT");
    if (!host && !port) return 0;
    if (!host || (!port && host[0] != '@')) {
        return symm__fail(SYMM_EINVALID, "%s is set, but %s is not; the address is both of them",
                          host ? "MASTER_ADDR" : "MASTER_PORT",
                          host ? "MASTER_PORT" : "MASTER_ADDR");
    }
    if (strlen(host) >= sizeof launch->host) {
        return symm__fail(SYMM_EINVALID, "MASTER_ADDR has %zu bytes; at most %zu are taken",
                          strlen(host), sizeof launch->host - 1);
    }
    int rc = SYMM_OK;
    launch->port = -1;
    if (host[0] != '@') rc = read_number(reader, "MASTER_PORT", 1, 65535, 0, &launch->port);
    if (rc < 0) return rc;
    snprintf(launch->host, sizeof launch->host, "%s", host);
    return 1;
}

int symm_launch_detect(symm_getenv get, void *context, struct symm_launch *out) {
    struct reader reader = {get ? get : from_process, context};
    struct symm_launch found = {"none", 0, 1, 0, 1, "", -1};
    int launcher = 0, rc = 0;
    while (launcher < SET_COUNT && rc == 0) {
        rc = has_set(&reader, (enum launcher)launcher);
        if (rc == 0) launcher++;
    }
    if (rc < 0) return rc;
    if (rc == 1) {
        rc = read_set(&reader, (enum launcher)launcher, &found);
        if (rc == SYMM_OK) rc = read_address(&reader, &found);
        if (rc == 0 && found.world_size > 1) {
            rc = name_socket(&reader, (enum launcher)launcher, &found);
        }
        if (rc < 0) return rc;
    }
    *out = found;
    return SYMM_OK;
}

/* ---- the store ---- */

int symm_launch_open_store(const struct symm_launch *launch, int64_t timeout_ms, symm_store **out) {
    SYMM__GUARD_FORK();
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    if (!launch->host[0]) {
        if (launch->world_size == 1) return symm_store_open_hash(out);
        return symm__fail(SYMM_EINVALID, "%d ranks need the address of a store",
                          launch->world_size);
    }
    options.host = launch->host;
    options.port = launch->host[0] == '@' ? 0 : launch->port;
    options.world_size = launch->world_size;
    options.is_master = launch->rank == 0;
    /* Whoever meets through the store names the ranks that are missing. */
    options.wait_for_workers = 0;
    options.timeout_ms = timeout_ms;
    if (options.is_master) options.listen_fd = symm__rendezvous_take_listen_fd(options.port);
    return symm_store_open_tcp(&options, out);
}
