/* SPDX-License-Identifier: MIT
 *
 * What the library reads from a launcher's variables.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/error.h>
#include <symm/launch.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/check.h"

/* An environment: "NAME=VALUE" up to a NULL. */
typedef const char *const environment[16];

static const char *look_up(void *context, const char *name) {
    const char *const *pairs = context;
    size_t length = strlen(name);
    for (; *pairs; pairs++) {
        if (strncmp(*pairs, name, length) == 0 && (*pairs)[length] == '=')
            return *pairs + length + 1;
    }
    return NULL;
}

static int detect(environment env, struct symm_launch *out) {
    return symm_launch_detect(look_up, (void *)(uintptr_t)env, out);
}

struct good {
    const char *what;
    environment env;
    const char *launcher;
    int rank, world_size, local_rank, local_world_size;
    const char *host; /* a trailing * stands for anything */
    int port;
};

#define ADDRESS "MASTER_ADDR=h", "MASTER_PORT=1234"

static const struct good goods[] = {
    {"nothing", {NULL}, "none", 0, 1, 0, 1, "", -1},
    {"an address alone", {ADDRESS}, "none", 0, 1, 0, 1, "", -1},
    {"RANK", {"RANK=2", "WORLD_SIZE=4", ADDRESS}, "env", 2, 4, -1, -1, "h", 1234},
    {"RANK, local",
     {"RANK=2", "WORLD_SIZE=4", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2", ADDRESS},
     "env",
     2,
     4,
     0,
     2,
     "h",
     1234},
    {"one rank of RANK", {"RANK=0", "WORLD_SIZE=1"}, "env", 0, 1, -1, -1, "", -1},
    {"one rank with an address",
     {"RANK=0", "WORLD_SIZE=1", ADDRESS},
     "env",
     0,
     1,
     -1,
     -1,
     "h",
     1234},
    {"an abstract socket",
     {"RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=@x"},
     "env",
     1,
     2,
     -1,
     -1,
     "@x",
     -1},
    {"the last port",
     {"RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=h", "MASTER_PORT=65535"},
     "env",
     1,
     2,
     -1,
     -1,
     "h",
     65535},
    {"RANK goes before all others",
     {"OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_SIZE=6", "PMI_RANK=5", "PMI_SIZE=6", "RANK=1",
      "WORLD_SIZE=2", ADDRESS},
     "env",
     1,
     2,
     -1,
     -1,
     "h",
     1234},
    {"Open MPI goes before PMI, and is not mixed with it",
     {"PMI_RANK=5", "PMI_SIZE=6", "MPI_LOCALRANKID=1", "OMPI_COMM_WORLD_RANK=1",
      "OMPI_COMM_WORLD_SIZE=2", ADDRESS},
     "openmpi",
     1,
     2,
     -1,
     -1,
     "h",
     1234},
    {"Open MPI on one host",
     {"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_RANK=3",
      "OMPI_COMM_WORLD_LOCAL_SIZE=4", "PMIX_NAMESPACE=77"},
     "openmpi",
     3,
     4,
     3,
     4,
     "@symm-job-*-pmix-77",
     -1},
    {"Open MPI with a long name",
     {"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_SIZE=4",
      "PMIX_NAMESPACE=0123456789012345678901234567890123456789012345678901234567890123456789"},
     "openmpi",
     3,
     4,
     -1,
     4,
     "@symm-job-*-pmix-01234567890123456789012345678901234-*",
     -1},
    {"MPICH on one host",
     {"PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2"},
     "pmi",
     1,
     2,
     1,
     2,
     "@symm-job-*-parent-*",
     -1},
    {"MPICH in a step of its own, which others may share",
     {"PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALNRANKS=2", "SLURM_JOB_ID=7", "SLURM_STEP_ID=0"},
     "pmi",
     1,
     2,
     -1,
     2,
     "@symm-job-*-parent-*",
     -1},
    {"PMI of SLURM",
     {"PMI_RANK=1", "PMI_SIZE=2", "SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_NODES=1"},
     "pmi",
     1,
     2,
     -1,
     2,
     "@symm-job-*-slurm-7.0",
     -1},
    {"SLURM in a step",
     {"SLURM_PROCID=3", "SLURM_NTASKS=8", "SLURM_LOCALID=1", "SLURM_STEP_ID=12", ADDRESS},
     "slurm",
     3,
     8,
     1,
     -1,
     "h",
     1234},
    {"SLURM in a step, by its other name",
     {"SLURM_PROCID=3", "SLURM_NTASKS=8", "SLURM_STEPID=12", ADDRESS},
     "slurm",
     3,
     8,
     -1,
     -1,
     "h",
     1234},
    {"SLURM on one node",
     {"SLURM_PROCID=3", "SLURM_NTASKS=8", "SLURM_STEP_ID=12", "SLURM_JOB_ID=99",
      "SLURM_STEP_NUM_NODES=1"},
     "slurm",
     3,
     8,
     -1,
     8,
     "@symm-job-*-slurm-99.12",
     -1},
    {"SLURM, the last number of a real step",
     {"SLURM_PROCID=0", "SLURM_NTASKS=2", "SLURM_STEP_ID=4294967279", ADDRESS},
     "slurm",
     0,
     2,
     -1,
     -1,
     "h",
     1234},
    {"SLURM outside of a step",
     {"SLURM_PROCID=0", "SLURM_NTASKS=8", "SLURM_JOB_ID=9"},
     "none",
     0,
     1,
     0,
     1,
     "",
     -1},
    {"SLURM's batch script",
     {"SLURM_PROCID=0", "SLURM_NTASKS=8", "SLURM_STEP_ID=4294967291"},
     "none",
     0,
     1,
     0,
     1,
     "",
     -1},
    {"SLURM's interactive shell",
     {"SLURM_PROCID=0", "SLURM_NTASKS=8", "SLURM_STEP_ID=4294967290"},
     "none",
     0,
     1,
     0,
     1,
     "",
     -1},
    {"SLURM, the first reserved number",
     {"SLURM_PROCID=0", "SLURM_NTASKS=8", "SLURM_STEP_ID=4294967280"},
     "none",
     0,
     1,
     0,
     1,
     "",
     -1},
    {"SLURM, a step without a number",
     {"SLURM_PROCID=0", "SLURM_NTASKS=8", "SLURM_STEP_ID=batch"},
     "none",
     0,
     1,
     0,
     1,
     "",
     -1},
    {"PMIX_RANK never suffices",
     {"PMIX_RANK=1", "PMIX_NAMESPACE=7", "PMIX_SIZE=4"},
     "none",
     0,
     1,
     0,
     1,
     "",
     -1},
    {"an empty variable is absent",
     {"RANK=", "WORLD_SIZE=", "PMI_RANK=1", "PMI_SIZE=2", ADDRESS},
     "pmi",
     1,
     2,
     -1,
     -1,
     "h",
     1234},
};

static int matches(const char *text, const char *pattern) {
    for (; *pattern && *pattern != '*'; text++, pattern++) {
        if (*text != *pattern) return 0;
    }
    if (!*pattern) return !*text;
    do {
        if (matches(text, pattern + 1)) return 1;
    } while (*text++);
    return 0;
}

TEST(sets_are_taken_whole_and_in_order) {
    for (size_t i = 0; i < sizeof goods / sizeof *goods; i++) {
        const struct good *good = &goods[i];
        struct symm_launch got;
        memset(&got, 0xee, sizeof got);
        printf("# %s\n", good->what);
        if (!CHECK_OK(detect(good->env, &got))) continue;
        CHECK_STR(got.launcher, good->launcher);
        CHECK_INT(got.rank, good->rank);
        CHECK_INT(got.world_size, good->world_size);
        CHECK_INT(got.local_rank, good->local_rank);
        CHECK_INT(got.local_world_size, good->local_world_size);
        CHECK_INT(got.port, good->port);
        if (!CHECK(matches(got.host, good->host))) printf("# host is %s\n", got.host);
        CHECK(got.host[0] != '@' || strlen(got.host) <= 107);
    }
}

struct bad {
    environment env;
    const char *part; /* of the message */
};

static const struct bad bads[] = {
    {{"RANK=0", ADDRESS}, "RANK is set, but WORLD_SIZE is not"},
    {{"WORLD_SIZE=2", ADDRESS}, "WORLD_SIZE is set, but RANK is not"},
    {{"WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2", ADDRESS}, "RANK is not"},
    {{"OMPI_COMM_WORLD_RANK=0", ADDRESS}, "OMPI_COMM_WORLD_SIZE is not"},
    {{"PMI_SIZE=2", ADDRESS}, "PMI_SIZE is set, but PMI_RANK is not"},
    {{"SLURM_PROCID=0", "SLURM_STEP_ID=1", ADDRESS}, "SLURM_NTASKS is not"},
    {{"RANK=4", "WORLD_SIZE=4", ADDRESS}, "RANK=4 is not a number from 0 to 3"},
    {{"RANK=-1", "WORLD_SIZE=4", ADDRESS}, "RANK=-1 is not a number"},
    {{"RANK=x", "WORLD_SIZE=4", ADDRESS}, "RANK=x is not a number"},
    {{"RANK=1 ", "WORLD_SIZE=4", ADDRESS}, "RANK=1  is not a number"},
    {{"RANK=0", "WORLD_SIZE=0", ADDRESS}, "WORLD_SIZE=0 is not a number from 1"},
    {{"RANK=0", "WORLD_SIZE=99999999999999999999", ADDRESS}, "WORLD_SIZE=9999"},
    {{"RANK=0", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=3", ADDRESS},
     "LOCAL_WORLD_SIZE=3 is not a number from 1 to 2"},
    {{"RANK=0", "WORLD_SIZE=4", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=2", ADDRESS},
     "LOCAL_RANK=2 is not a number from 0 to 1"},
    {{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=h"}, "MASTER_ADDR is set, but MASTER_PORT is not"},
    {{"RANK=0", "WORLD_SIZE=2", "MASTER_PORT=5"}, "MASTER_PORT is set, but MASTER_ADDR is not"},
    {{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=h", "MASTER_PORT=0"},
     "MASTER_PORT=0 is not a number from 1 to 65535"},
    {{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=h", "MASTER_PORT=65536"}, "MASTER_PORT=65536 is not"},
    {{"RANK=1", "WORLD_SIZE=2"}, "type: export MASTER_ADDR="},
    {{"RANK=1", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=2"}, "type: export MASTER_ADDR="},
    {{"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_SIZE=2",
      "PMIX_NAMESPACE=77"},
     "type: mpirun -x MASTER_ADDR="},
    {{"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_SIZE=4"},
     "type: mpirun -x"},
    {{"PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALNRANKS=1"}, "type: mpirun -genv MASTER_ADDR"},
    {{"SLURM_PROCID=3", "SLURM_NTASKS=8", "SLURM_STEP_ID=12", "SLURM_JOB_ID=99",
      "SLURM_STEP_NUM_NODES=2"},
     "scontrol show hostnames"},
};

TEST(what_is_wrong_is_named) {
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        struct symm_launch untouched = {"untouched", -7, -7, -7, -7, "", -7};
        CHECK_FAILS(detect(bads[i].env, &untouched), SYMM_EINVALID, bads[i].part);
        CHECK_STR(untouched.launcher, "untouched");
    }
}

TEST(an_address_has_room_for_255_bytes) {
    char pair[300] = "MASTER_ADDR=";
    environment env = {"RANK=0", "WORLD_SIZE=2", "MASTER_PORT=1", pair, NULL};
    struct symm_launch got;
    memset(pair + 12, 'a', 255);
    CHECK_OK(detect(env, &got));
    CHECK_INT(strlen(got.host), 255);
    memset(pair + 12, 'a', 256);
    CHECK_FAILS(detect(env, &got), SYMM_EINVALID, "MASTER_ADDR has 256 bytes");
}

ROLE(prints_its_socket) {
    environment env = {"PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALNRANKS=2", NULL};
    struct symm_launch got;
    CHECK_OK(detect(env, &got));
    FILE *file = fopen(argv[1], "w");
    if (!CHECK_NOT_NULL(file)) return 1;
    fputs(got.host, file);
    return fclose(file);
}

static void read_text(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "r");
    text[0] = '\0';
    if (!file) return;
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    unlink(path);
}

TEST(ranks_of_one_parent_meet_at_one_socket) {
    char one[128], two[128], path[128];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/launch-%d", folder ? folder : "/tmp", (int)getpid());
    CHECK_INT(check_wait(check_spawn("prints_its_socket", path, NULL)), 0);
    read_text(path, one, sizeof one);
    CHECK_INT(check_wait(check_spawn("prints_its_socket", path, NULL)), 0);
    read_text(path, two, sizeof two);
    CHECK_CONTAINS(one, "-parent-");
    CHECK_STR(two, one);
}

TEST(one_rank_without_address_has_a_store_of_its_own) {
    struct symm_launch launch = {"none", 0, 1, 0, 1, "", -1};
    symm_store *store = NULL;
    REQUIRE_OK(symm_launch_open_store(&launch, 1000, &store));
    CHECK_STR(symm_store_kind(store), "hash");
    symm_store_release(store);
    launch.world_size = 2;
    CHECK_FAILS(symm_launch_open_store(&launch, 1000, &store), SYMM_EINVALID, "address of a store");
}

static int listening_socket(int *port_out) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 16) < 0) return -1;
    getsockname(fd, (struct sockaddr *)&address, &size);
    *port_out = ntohs(address.sin_port);
    return fd;
}

/* Opens rank 0's store of a job at `port` with the descriptor in the variable. */
static int open_master(int port, int fd, symm_store **out) {
    struct symm_launch launch = {"env", 0, 1, 0, 1, "127.0.0.1", port};
    char number[16];
    snprintf(number, sizeof number, "%d", fd);
    setenv("SYMM_MASTER_LISTEN_FD", number, 1);
    int rc = symm_launch_open_store(&launch, 5000, out);
    unsetenv("SYMM_MASTER_LISTEN_FD");
    return rc;
}

TEST(the_launchers_socket_is_taken_over_once) {
    symm_store *store = NULL;
    int port = 0, fd = listening_socket(&port);
    REQUIRE(fd >= 0);
    REQUIRE_OK(open_master(port, fd, &store));
    CHECK_INT(symm_store_port(store), port);
    CHECK_OK(symm_store_set(store, symm_slice_of("k"), symm_slice_of("v")));
    symm_store_release(store);
    int other_port = 0, other = listening_socket(&other_port);
    REQUIRE(other >= 0);
    CHECK_FAILS(open_master(other_port, other, &store), SYMM_ENETWORK, "");
    close(other);
}

TEST(a_descriptor_that_is_not_that_socket_is_left_alone) {
    symm_store *store = NULL;
    int port = 0, fd = listening_socket(&port);
    REQUIRE(fd >= 0);
    close(fd);
    REQUIRE_OK(open_master(port, STDIN_FILENO, &store)); /* binds the port itself */
    CHECK_INT(symm_store_port(store), port);
    symm_store_release(store);
}
