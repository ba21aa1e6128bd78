/* SPDX-License-Identifier: MIT */
#include "base/activity.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symm/activity.h>
#include <symm/wait.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

struct symm__activity_page *symm__activity_page;

/* ---- the rank's side ---- */

/* A child of the rank may inherit the variable but not the descriptor, whose number may by then
 * mean anything: only a sealed memory file of the right size and with the magic is taken. */
static struct symm__activity_page *map_page(int fd) {
    struct stat status;
    struct symm__activity_page *page;
    if (fcntl(fd, F_GET_SEALS) < 0 || fstat(fd, &status) < 0) return NULL;
    if (status.st_size != (off_t)sizeof *page) return NULL;
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) return NULL;
    if (page->magic == SYMM__ACTIVITY_MAGIC) return page;
    munmap(page, sizeof *page);
    return NULL;
}

__attribute__((constructor)) static void attach_from_environment(void) {
    const char *text = getenv(SYMM_ACTIVITY_VARIABLE);
    char *end = NULL;
    if (!text) return;
    long fd = strtol(text, &end, 10);
    if (end == text || *end || fd <= STDERR_FILENO || fd > 1 << 20) return;
    symm__activity_page = map_page((int)fd);
    if (symm__activity_page) close((int)fd);
}

int symm__activity_group(const char *group_name) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct symm__activity_page *page = symm__activity_page;
    if (!page) return 0;
    char name[SYMM__ACTIVITY_GROUP_SIZE];
    snprintf(name, sizeof name, "%s", group_name);
    pthread_mutex_lock(&lock);
    unsigned count = atomic_load_explicit(&page->group_count, memory_order_relaxed), at = 0;
    while (at < count && strcmp(page->groups[at], name) != 0) at++;
    if (at == count && count < SYMM__ACTIVITY_GROUPS) {
        memcpy(page->groups[at], name, sizeof name);
        /* Pairs with the acquire in describe_place(): the name is whole before it counts. */
        atomic_store_explicit(&page->group_count, ++count, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return at < count ? (int)at + 1 : 0;
}

void symm__activity_set_since(void) {
    atomic_store_explicit(&symm__activity_page->since_ns, symm_now_ns(), memory_order_relaxed);
}

void symm_activity_fail(int code) {
    struct symm__activity_page *page = symm__activity_page;
    int none = 0;
    if (!page) return;
    /* Only a claim: the code is read when the time stands there. */
    if (!atomic_compare_exchange_strong_explicit(&page->failed_code, &none, code,
                                                 memory_order_relaxed, memory_order_relaxed)) {
        return;
    }
    /* Pairs with the acquire in symm_activity_failure(). */
    atomic_store_explicit(&page->failed_ns, symm_now_ns(), memory_order_release);
}

/* ---- the launcher's side ---- */

struct symm_activity {
    int fd;
    struct symm__activity_page *page;
};

int symm_activity_open(symm_activity **out) {
    struct symm_activity *activity = malloc(sizeof *activity);
    if (!activity) return symm__fail_oom(sizeof *activity);
    int rc = SYMM_OK;
    activity->fd = memfd_create("symm-activity", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (activity->fd < 0) {
        rc = symm__fail_errno(errno, "memfd_create");
        goto fail_memory;
    }
    if (ftruncate(activity->fd, (off_t)sizeof *activity->page) < 0 ||
        fcntl(activity->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        rc = symm__fail_errno(errno, "the size of an activity page");
        goto fail_fd;
    }
    activity->page =
        mmap(NULL, sizeof *activity->page, PROT_READ | PROT_WRITE, MAP_SHARED, activity->fd, 0);
    if (activity->page == MAP_FAILED) {
        rc = symm__fail_errno(errno, "mapping an activity page");
        goto fail_fd;
    }
    activity->page->magic = SYMM__ACTIVITY_MAGIC;
    *out = activity;
    return SYMM_OK;

fail_fd:
    close(activity->fd);
fail_memory:
    free(activity);
    return rc;
}

void symm_activity_close(symm_activity *activity) {
    if (!activity) return;
    munmap(activity->page, sizeof *activity->page);
    symm_activity_drop_fd(activity);
    free(activity);
}

int symm_activity_fd(const symm_activity *activity) { return activity->fd; }

void symm_activity_drop_fd(symm_activity *activity) {
    if (activity->fd >= 0) close(activity->fd);
    activity->fd = -1;
}

int symm_activity_failure(const symm_activity *activity, int *code_out, int64_t *when_ns_out) {
    /* Pairs with the release in symm_activity_fail(). */
    int64_t when = atomic_load_explicit(&activity->page->failed_ns, memory_order_acquire);
    if (!when) return 0;
    *code_out = atomic_load_explicit(&activity->page->failed_code, memory_order_relaxed);
    *when_ns_out = when;
    return 1;
}

static const char *op_name(unsigned op) {
    static const char *const names[] = {
#define NAME(name) #name,
        SYMM__ACTIVITY_LIST(NAME)
#undef NAME
    };
    return op >= 1 && op <= sizeof names / sizeof *names ? names[op - 1] : NULL;
}

/* " (group 0, peer 2, channel 1)" of what there is. A rank may write nonsense, so all is checked.
 */
static void describe_place(struct symm__activity_page *page, uint64_t what, uint64_t where,
                           char *text, size_t size) {
    unsigned group = (unsigned)(what >> 16 & 0xffff);
    /* Pairs with the release in symm__activity_group(). */
    unsigned count = atomic_load_explicit(&page->group_count, memory_order_acquire);
    int peer = (int)(uint32_t)(what >> 32), channel = (int)(uint32_t)where;
    size_t used = 0;
    text[0] = '\0';
#define ADD(...)                                                                \
    do {                                                                        \
        used += (size_t)snprintf(text + used, size - used, used ? ", " : " ("); \
        used += (size_t)snprintf(text + used, size - used, __VA_ARGS__);        \
    } while (0)
    if (group >= 1 && group <= count && group <= SYMM__ACTIVITY_GROUPS) {
        ADD("group %.63s", page->groups[group - 1]);
    }
    if (peer >= 0) ADD("peer %d", peer);
    if (channel >= 0) ADD("channel %d", channel);
#undef ADD
    if (used) snprintf(text + used, size - used, ")");
}

void symm_activity_describe(const symm_activity *activity, char *text, size_t size) {
    struct symm__activity_page *page = activity->page;
    uint64_t what = atomic_load_explicit(&page->what, memory_order_relaxed);
    uint64_t where = atomic_load_explicit(&page->where, memory_order_relaxed);
    int64_t since = atomic_load_explicit(&page->since_ns, memory_order_relaxed);
    const char *op = op_name((unsigned)(what & 0xffff));
    char place[192], time[64] = "";
    if (!op) {
        snprintf(text, size, "none yet");
        return;
    }
    int running = (where & SYMM__ACTIVITY_RUNNING) != 0;
    describe_place(page, what, where, place, sizeof place);
    if (running && since > 0) {
        double seconds = (double)(symm_now_ns() - since) / 1e9;
        snprintf(time, sizeof time, ", waiting for %.1f s", seconds > 0 ? seconds : 0);
    }
    snprintf(text, size, "%s%s%s%s", running ? "in " : "", op, place, running ? time : ", ended");
}
