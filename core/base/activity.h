/* SPDX-License-Identifier: MIT
 *
 * What this process is doing, told to its launcher even if it is killed: a page of memory that both
 * have mapped (symm/activity.h). Writing it takes a few plain stores and no clock; where there is
 * no launcher there is no page, and nothing is done.
 *
 *     struct symm__activity_mark before = symm__activity_begin(SYMM__ACT_barrier, group, -1, 0);
 *     ... symm__activity_waiting() where it begins to sleep ...
 *     symm__activity_end(before);
 *
 * Operations nest (a rendezvous asks the store): the end of the inner one shows the outer one
 * again. Every operation begins and ends on one thread; of several threads the last to write is
 * shown.
 */
#ifndef SYMM_BASE_ACTIVITY_H
#define SYMM_BASE_ACTIVITY_H

#include <stdatomic.h>
#include <stdint.h>

/* The operations that are told, as the API names them. Append only where it pleases: launcher and
 * rank are of one build. */
#define SYMM__ACTIVITY_LIST(X) \
    X(init_process_group)      \
    X(destroy_process_group)   \
    X(group_barrier)           \
    X(rendezvous)              \
    X(put_signal)              \
    X(wait_signal)             \
    X(barrier)                 \
    X(store_open)              \
    X(store_set)               \
    X(store_get)               \
    X(store_add)               \
    X(store_wait)              \
    X(store_check)             \
    X(store_delete_key)        \
    X(store_num_keys)          \
    X(store_set_timeout)       \
    X(store_linger)

enum symm__activity_op {
    SYMM__ACT_none,
#define SYMM__ACTIVITY_ENUM(name) SYMM__ACT_##name,
    SYMM__ACTIVITY_LIST(SYMM__ACTIVITY_ENUM)
#undef SYMM__ACTIVITY_ENUM
};

#define SYMM__ACTIVITY_MAGIC UINT32_C(0x53594d31)
#define SYMM__ACTIVITY_GROUPS 31
#define SYMM__ACTIVITY_GROUP_SIZE 64
#define SYMM__ACTIVITY_RUNNING (UINT64_C(1) << 63)

/* All words are relaxed atomics: the reader pairs with nothing and looks when the writer is dead or
 * stuck; a torn pair of words would name a wrong channel once, and harms nobody. */
struct symm__activity_page {
    uint32_t magic; /* written by the launcher */
    atomic_uint group_count;
    _Atomic uint64_t what;     /* op | group << 16 | peer << 32 */
    _Atomic uint64_t where;    /* channel | RUNNING */
    _Atomic uint64_t count;    /* operations begun */
    _Atomic int64_t since_ns;  /* monotonic; when it began to sleep, 0: it did not */
    _Atomic int64_t failed_ns; /* when the rank said that it fails; 0: it did not */
    atomic_int failed_code;
    char groups[SYMM__ACTIVITY_GROUPS][SYMM__ACTIVITY_GROUP_SIZE];
};

struct symm__activity_mark {
    uint64_t what;
    uint64_t where;
};

/* NULL: nobody looks. Set before main, never changed after. */
extern struct symm__activity_page *symm__activity_page;

/* The number of a group's name for begin; 0 ("no group") if there is no page or no room. Once per
 * group; takes a lock. */
int symm__activity_group(const char *group_name);
void symm__activity_set_since(void);

/* `peer`, `channel`: -1 where there is none; `group`: 0 or a number of symm__activity_group. */
static inline struct symm__activity_mark symm__activity_begin(enum symm__activity_op op, int group,
                                                              int peer, int channel) {
    struct symm__activity_page *page = symm__activity_page;
    struct symm__activity_mark before = {0, 0};
    if (!page) return before;
    uint64_t what = (uint64_t)op | (uint64_t)(uint16_t)group << 16 | (uint64_t)(uint32_t)peer << 32;
    uint64_t where = (uint32_t)channel | SYMM__ACTIVITY_RUNNING;
    before.what = atomic_load_explicit(&page->what, memory_order_relaxed);
    before.where = atomic_load_explicit(&page->where, memory_order_relaxed);
    uint64_t count = atomic_load_explicit(&page->count, memory_order_relaxed);
    atomic_store_explicit(&page->what, what, memory_order_relaxed);
    atomic_store_explicit(&page->where, where, memory_order_relaxed);
    atomic_store_explicit(&page->count, count + 1, memory_order_relaxed);
    atomic_store_explicit(&page->since_ns, 0, memory_order_relaxed);
    return before;
}

static inline void symm__activity_end(struct symm__activity_mark before) {
    struct symm__activity_page *page = symm__activity_page;
    if (!page) return;
    if (before.where & SYMM__ACTIVITY_RUNNING) {
        atomic_store_explicit(&page->what, before.what, memory_order_relaxed);
        atomic_store_explicit(&page->where, before.where, memory_order_relaxed);
        return;
    }
    uint64_t where = atomic_load_explicit(&page->where, memory_order_relaxed);
    atomic_store_explicit(&page->where, where & ~SYMM__ACTIVITY_RUNNING, memory_order_relaxed);
}

/* The operation begins to sleep; looks at the clock, so not for the fast path. */
static inline void symm__activity_waiting(void) {
    struct symm__activity_page *page = symm__activity_page;
    if (page && !atomic_load_explicit(&page->since_ns, memory_order_relaxed)) {
        symm__activity_set_since();
    }
}

#endif
