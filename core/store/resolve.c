/* SPDX-License-Identifier: MIT */
#include "store/resolve.h"

#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/condition.h"

/* A look-up that a thread makes. It outlives its caller when the deadline comes first; the last of
 * the two frees it. */
struct lookup {
    pthread_mutex_t lock;
    pthread_cond_t finished;
    int references; /* this and all below under lock, once the thread runs */
    int done;
    int error; /* of getaddrinfo */
    struct symm__resolved found;
    char service[16];
    char host[];
};

int symm__resolve_unix(const char *host, struct symm__address *out) {
    size_t size = strlen(host);
    if (size < 2 || size > sizeof out->at.un.sun_path) {
        return symm__fail(SYMM_EINVALID, "the socket name %s must have 1 to %zu bytes after its @",
                          host, sizeof out->at.un.sun_path - 1);
    }
    memset(out, 0, sizeof *out);
    out->at.un.sun_family = AF_UNIX;
    memcpy(out->at.un.sun_path + 1, host + 1, size - 1); /* a 0 byte where the text has its @ */
    out->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    return SYMM_OK;
}

/* "localhost" is the loopback (RFC 6761), whether or not the system has a file or a server that
 * says so: getaddrinfo's name for it is NULL. */
static int look_up(const char *host, const char *service, int flags, struct symm__resolved *out) {
    if (strcmp(host, "localhost") == 0 && !(flags & AI_NUMERICHOST)) host = NULL;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
    struct addrinfo *list = NULL;
    int error = getaddrinfo(host, service, &hints, &list);
    if (error) return error;
    out->count = 0;
    for (struct addrinfo *i = list; i && out->count < SYMM__RESOLVED_MAX; i = i->ai_next) {
        struct symm__address *address = &out->addresses[out->count++];
        memcpy(&address->at, i->ai_addr, i->ai_addrlen);
        address->size = i->ai_addrlen;
    }
    freeaddrinfo(list);
    return 0;
}

/* Unlocks, and frees if nobody else has it. */
static void leave(struct lookup *lookup) {
    int last = --lookup->references == 0;
    pthread_mutex_unlock(&lookup->lock);
    if (!last) return;
    pthread_cond_destroy(&lookup->finished);
    pthread_mutex_destroy(&lookup->lock);
    free(lookup);
}

static void *run(void *context) {
    struct lookup *lookup = context;
    struct symm__resolved found;
    int error = look_up(lookup->host, lookup->service, 0, &found);
    pthread_mutex_lock(&lookup->lock);
    lookup->done = 1;
    lookup->error = error;
    if (!error) lookup->found = found;
    pthread_cond_signal(&lookup->finished);
    leave(lookup);
    return NULL;
}

static int start(struct lookup *lookup) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, &attributes, run, lookup);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static struct lookup *new_lookup(const char *host, const char *service) {
    struct lookup *lookup = calloc(1, sizeof *lookup + strlen(host) + 1);
    if (!lookup) return NULL;
    pthread_mutex_init(&lookup->lock, NULL);
    symm__condition_init(&lookup->finished);
    lookup->references = 2;
    snprintf(lookup->service, sizeof lookup->service, "%s", service);
    memcpy(lookup->host, host, strlen(host) + 1);
    return lookup;
}

static int say(int error, char *reason_out, size_t reason_size) {
    snprintf(reason_out, reason_size, "the name is not known: %s", gai_strerror(error));
    return 0;
}

static int look_up_in_thread(const char *host, const char *service, int64_t deadline_ns,
                             struct symm__resolved *out, char *reason_out, size_t reason_size) {
    struct lookup *lookup = new_lookup(host, service);
    if (!lookup) return symm__fail_oom(sizeof *lookup);
    int error = start(lookup), rc = SYMM_OK;
    pthread_mutex_lock(&lookup->lock);
    if (error) {
        lookup->references--;
        leave(lookup);
        return symm__fail_errno(error, "a thread that resolves %s", host);
    }
    while (rc == SYMM_OK && !lookup->done && !symm__deadline_passed(deadline_ns)) {
        rc = symm__condition_slice(&lookup->finished, &lookup->lock, deadline_ns);
    }
    if (rc == SYMM_OK && !lookup->done) {
        snprintf(reason_out, reason_size, "the name was not resolved in time");
    } else if (rc == SYMM_OK && lookup->error) {
        rc = say(lookup->error, reason_out, reason_size);
    } else if (rc == SYMM_OK) {
        *out = lookup->found;
        rc = 1;
    }
    leave(lookup);
    return rc;
}

int symm__resolve(const char *host, int port, int64_t deadline_ns, struct symm__resolved *out,
                  char *reason_out, size_t reason_size) {
    char service[16];
    if (host[0] == '@') {
        out->count = 1;
        int rc = symm__resolve_unix(host, &out->addresses[0]);
        return rc < 0 ? rc : 1;
    }
    snprintf(service, sizeof service, "%d", port);
    if (look_up(host, service, AI_NUMERICHOST, out) == 0) return 1;
    return look_up_in_thread(host, service, deadline_ns, out, reason_out, reason_size);
}
