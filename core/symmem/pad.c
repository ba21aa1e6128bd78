/* SPDX-License-Identifier: MIT
 *
 * Signals and barriers over the words of a front (NOTE front in symmem.h).
 *
 * NOTE sleep. Who waits for a word spins, yields, then sleeps on the word as a futex. To sleep it
 * adds 1 to the word's sleepers and looks at the word once more; who changes the word looks at the
 * sleepers afterwards and wakes them. All four accesses are seq_cst, so at least one side sees the
 * other: no wake is lost. A sleep lasts one slice at most all the same, since deadline, peers and
 * the wait hook are looked at between two.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/deadline.h"
#include "base/error.h"
#include "symmem/symmem.h"

#define YIELDS 100
#define YIELDS_PER_LOOK 8

typedef _Atomic uint32_t word_t;

struct wait {
    symm_memory *memory;
    const char *op;
    int peer;
    int channel;
    int64_t timeout_ms;
    int64_t begun_ns;
    int64_t deadline_ns;
    word_t *word;
    word_t *sleepers;
    uint32_t target;
    int at_least; /* the word counts up to the target, else it must equal it */
};

static inline word_t *slot_of(const symm_memory *m, int owner, int channel, int source) {
    return (word_t *)(m->views[owner].front + m->front.pad) +
           ((size_t)channel * (size_t)m->world_size + (size_t)source);
}

static inline word_t *slot_sleepers(const symm_memory *m, int owner, int channel, int source) {
    return (word_t *)(m->views[owner].front + m->front.sleepers) +
           ((size_t)channel * (size_t)m->world_size + (size_t)source);
}

static inline word_t *arrivals_of(const symm_memory *m, int owner, int channel) {
    return (word_t *)(m->views[owner].front + m->front.barrier) + 2 * (size_t)channel;
}

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static inline int reached(const struct wait *w, uint32_t value) {
    return w->at_least ? (int32_t)(value - w->target) >= 0 : value == w->target;
}

/* ---- futex: shared between processes, so never the private kind ---- */

static int futex_sleep(word_t *word, uint32_t value, int64_t ms) {
    struct timespec pause = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    return syscall(SYS_futex, word, FUTEX_WAIT, value, &pause, NULL, 0) == 0 ? 0 : errno;
}

static void wake_all(word_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

/* After a seq_cst change of the word: pairs with the sleeper's add (NOTE sleep). */
static inline void wake_sleepers(word_t *word, word_t *sleepers) {
    if (__builtin_expect(atomic_load_explicit(sleepers, memory_order_seq_cst) != 0, 0)) {
        wake_all(word);
    }
}

/* ---- failures ---- */

static struct symm__where where_of(const struct wait *w) {
    const symm_memory *m = w->memory;
    return (struct symm__where){w->op, m->info->name, m->rank, w->peer, w->channel, -1};
}

static double waited_s(const struct wait *w) { return (double)(symm_now_ns() - w->begun_ns) / 1e9; }

/* Ranks whose arrivals on the channel are behind this rank's. */
static void list_late(const struct wait *w, char *text, size_t size) {
    const symm_memory *m = w->memory;
    uint8_t *present = calloc((size_t)m->world_size, 1);
    if (!present) {
        snprintf(text, size, "%d", w->peer);
        return;
    }
    for (int r = 0; r < m->world_size; r++) {
        uint32_t count = atomic_load_explicit(arrivals_of(m, r, w->channel), memory_order_acquire);
        present[r] = (int32_t)(count - w->target) >= 0;
    }
    symm__list_missing(present, m->world_size, text, size);
    free(present);
}

static int fail_timeout(const struct wait *w) {
    struct symm__where where = where_of(w);
    char late[200];
    if (w->at_least) {
        list_late(w, late, sizeof late);
        return symm__fail_at(&where, SYMM_ETIMEOUT, "missing after %.3f s: rank %s", waited_s(w),
                             late);
    }
    return symm__fail_at(&where, SYMM_ETIMEOUT, "rank %d did not %s within %.3f s", w->peer,
                         w->target ? "signal" : "take the signal before this one", waited_s(w));
}

/* Looks at everything but the word that can end a wait. What a peer wrote before it ended counts.
 */
static int look_around(const struct wait *w) {
    struct symm__group_info *info = w->memory->info;
    int rc = symm__wait_poll();
    struct symm__where where = where_of(w);
    if (rc < 0) return symm__fail_in(&where);
    /* Acquire: pairs with the release in unset_group_info. */
    if (atomic_load_explicit(&info->ended, memory_order_acquire)) {
        return symm__fail_ended(info, w->op);
    }
    if (w->peer == w->memory->rank) return SYMM_OK;
    struct symm__mesh *mesh = atomic_load_explicit(&info->mesh, memory_order_acquire);
    rc = symm__mesh_check_peer(mesh, w->peer, w->op, w->channel);
    if (rc == SYMM_OK) return rc;
    return reached(w, atomic_load_explicit(w->word, memory_order_acquire)) ? SYMM_OK : rc;
}

/* ---- waiting ---- */

static int sleep_until(struct wait *w) {
    int rc = SYMM_OK;
    symm__activity_waiting();
    atomic_fetch_add_explicit(w->sleepers, 1, memory_order_seq_cst);
    for (;;) {
        uint32_t value = atomic_load_explicit(w->word, memory_order_seq_cst);
        if (reached(w, value)) break;
        int64_t ms = symm__deadline_left_ms(w->deadline_ns, SYMM_WAIT_SLICE_MS);
        if (ms == 0) {
            rc = fail_timeout(w);
            break;
        }
        int error = futex_sleep(w->word, value, ms);
        if (error == 0 || error == EAGAIN) continue; /* the word changed */
        rc = look_around(w);
        if (rc < 0) break;
    }
    atomic_fetch_sub_explicit(w->sleepers, 1, memory_order_seq_cst);
    return rc;
}

/* Until the word has reached the target. On success the caller has acquired what its writer
 * released. */
static int wait_until(struct wait *w) {
    int spins = w->memory->spin_turns;
    for (int i = 0; i < spins; i++) {
        if (reached(w, atomic_load_explicit(w->word, memory_order_acquire))) return SYMM_OK;
        relax();
    }
    if (w->deadline_ns == 0) {
        w->begun_ns = symm_now_ns();
        int rc = symm__deadline(w->timeout_ms, w->memory->info->timeout_ms, &w->deadline_ns);
        if (rc < 0) return rc;
    }
    for (int i = 0; i < YIELDS; i++) {
        if (reached(w, atomic_load_explicit(w->word, memory_order_acquire))) return SYMM_OK;
        if (i % YIELDS_PER_LOOK == YIELDS_PER_LOOK - 1 && symm__deadline_passed(w->deadline_ns))
            break;
        sched_yield();
    }
    return sleep_until(w);
}

/* ---- checks ---- */

static int fail_check(const symm_memory *m, const char *op, int peer, int channel,
                      int64_t timeout_ms) {
    struct symm__where where = {op, m->info->name, m->rank, -1, -1, -1};
    if (symm__is_forked_child) return symm__fail_forked();
    if (atomic_load_explicit(&m->info->ended, memory_order_acquire)) {
        return symm__fail_ended(m->info, op);
    }
    if (peer < 0 || peer >= m->world_size) {
        return symm__fail_at(&where, SYMM_EINVALID, "rank must be in [0, %d), not %d",
                             m->world_size, peer);
    }
    if (channel < 0 || channel >= m->channels) {
        return symm__fail_at(&where, SYMM_EINVALID,
                             "channel must be in [0, %d) with a signal pad of %lld bytes and "
                             "world_size %d, not %d",
                             m->channels, (long long)m->pad_size, m->world_size, channel);
    }
    int64_t deadline = 0;
    int rc = symm__deadline(timeout_ms, m->info->timeout_ms, &deadline);
    return rc < 0 ? symm__fail_in(&where) : rc;
}

/* One branch on the fast path; what is wrong is found out off it. */
static inline int check(const symm_memory *m, const char *op, int peer, int channel,
                        int64_t timeout_ms) {
    int bad = symm__is_forked_child | ((unsigned)peer >= (unsigned)m->world_size) |
              ((unsigned)channel >= (unsigned)m->channels) | (timeout_ms < SYMM_TIMEOUT_NONE) |
              atomic_load_explicit(&m->info->ended, memory_order_acquire);
    return __builtin_expect(bad, 0) ? fail_check(m, op, peer, channel, timeout_ms) : SYMM_OK;
}

/* ---- operations ---- */

int symm_memory_put_signal(symm_memory *memory, int dst_rank, int channel, int64_t timeout_ms) {
    int rc = check(memory, "put_signal", dst_rank, channel, timeout_ms);
    if (rc < 0) return rc;
    struct symm__activity_mark mark =
        symm__activity_begin(SYMM__ACT_put_signal, memory->activity_group, dst_rank, channel);
    word_t *slot = slot_of(memory, dst_rank, channel, memory->rank);
    word_t *sleepers = slot_sleepers(memory, dst_rank, channel, memory->rank);
    struct wait w = {.memory = memory,
                     .op = "put_signal",
                     .peer = dst_rank,
                     .channel = channel,
                     .timeout_ms = timeout_ms,
                     .word = slot,
                     .sleepers = sleepers,
                     .target = 0};
    uint32_t is_free = 0;
    /* Release: pairs with the acquire in wait_signal; seq_cst for NOTE sleep. */
    while (rc == SYMM_OK && !atomic_compare_exchange_weak_explicit(
                                slot, &is_free, 1, memory_order_seq_cst, memory_order_relaxed)) {
        rc = is_free == 0 ? SYMM_OK : wait_until(&w);
        is_free = 0;
    }
    if (rc == SYMM_OK) wake_sleepers(slot, sleepers);
    symm__activity_end(mark);
    return rc;
}

int symm_memory_wait_signal(symm_memory *memory, int src_rank, int channel, int64_t timeout_ms) {
    int rc = check(memory, "wait_signal", src_rank, channel, timeout_ms);
    if (rc < 0) return rc;
    struct symm__activity_mark mark =
        symm__activity_begin(SYMM__ACT_wait_signal, memory->activity_group, src_rank, channel);
    word_t *slot = slot_of(memory, memory->rank, channel, src_rank);
    word_t *sleepers = slot_sleepers(memory, memory->rank, channel, src_rank);
    struct wait w = {.memory = memory,
                     .op = "wait_signal",
                     .peer = src_rank,
                     .channel = channel,
                     .timeout_ms = timeout_ms,
                     .word = slot,
                     .sleepers = sleepers,
                     .target = 1};
    rc = wait_until(&w);
    if (rc == SYMM_OK) {
        /* Only this rank sets it back. Release: the source's next put comes after this rank's
         * reads; seq_cst for NOTE sleep. */
        atomic_exchange_explicit(slot, 0, memory_order_seq_cst);
        wake_sleepers(slot, sleepers);
    }
    symm__activity_end(mark);
    return rc;
}

int symm_memory_wake(symm_memory *memory, int rank, int64_t slot) {
    struct symm__where where = {"wake", memory->info->name, memory->rank, -1, -1, -1};
    if (rank < 0 || rank >= memory->world_size) {
        return symm__fail_at(&where, SYMM_EINVALID, "rank must be in [0, %d), not %d",
                             memory->world_size, rank);
    }
    if (slot < 0 || slot >= memory->pad_size / 4) {
        return symm__fail_at(&where, SYMM_EINVALID, "slot must be in [0, %lld), not %lld",
                             (long long)(memory->pad_size / 4), (long long)slot);
    }
    char *front = memory->views[rank].front;
    word_t *word = (word_t *)(front + memory->front.pad) + slot;
    /* The caller's store may have been any; this orders it before the look at the sleepers. */
    atomic_thread_fence(memory_order_seq_cst);
    wake_sleepers(word, (word_t *)(front + memory->front.sleepers) + slot);
    return SYMM_OK;
}

/* Every rank counts its own arrivals and waits until each peer's count has come as far. A rank can
 * be at most one ahead, since it needs this rank's next arrival to go further. */
int symm_memory_barrier(symm_memory *memory, int channel, int64_t timeout_ms) {
    int rc = check(memory, "barrier", memory->rank, channel, timeout_ms);
    if (rc < 0) return rc;
    struct symm__activity_mark mark =
        symm__activity_begin(SYMM__ACT_barrier, memory->activity_group, -1, channel);
    word_t *own = arrivals_of(memory, memory->rank, channel);
    /* Release: pairs with the peers' acquire in wait_until; seq_cst for NOTE sleep. */
    uint32_t count = atomic_fetch_add_explicit(own, 1, memory_order_seq_cst) + 1;
    wake_sleepers(own, own + 1);
    struct wait w = {.memory = memory,
                     .op = "barrier",
                     .channel = channel,
                     .timeout_ms = timeout_ms,
                     .target = count,
                     .at_least = 1};
    for (int i = 1; i < memory->world_size && rc == SYMM_OK; i++) {
        w.peer = (memory->rank + i) % memory->world_size;
        w.word = arrivals_of(memory, w.peer, channel);
        w.sleepers = w.word + 1;
        rc = wait_until(&w);
    }
    symm__activity_end(mark);
    return rc;
}
