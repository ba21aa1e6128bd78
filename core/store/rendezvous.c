/* SPDX-License-Identifier: MIT */
#include "store/rendezvous.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/registry.h"
#include "store/socket.h"

static struct symm__registry schemes = SYMM__REGISTRY_INIT("rendezvous scheme", NULL);

int symm__rendezvous_register(const char *scheme, const struct symm__rendezvous_scheme *handler) {
    return symm__registry_add(&schemes, scheme, (void *)(uintptr_t)handler);
}

/* ---- taking a URL apart ---- */

/* A decimal number from 0 to `most`, all of the text; -1 if it is none. */
static int parse_number(const char *text, int most) {
    char *end = NULL;
    if (*text < '0' || *text > '9') return -1;
    long number = strtol(text, &end, 10);
    return *end || number > most ? -1 : (int)number;
}

static int fail_url(const struct symm__rendezvous_url *url, const char *what) {
    return symm__fail(SYMM_EINVALID, "the rendezvous URL '%.200s' %s", url->text, what);
}

static int copy_part(const struct symm__rendezvous_url *url, const char *from, size_t size,
                     char *to, size_t room) {
    if (size >= room) return fail_url(url, "has a part that is too long");
    memcpy(to, from, size);
    to[size] = '\0';
    return SYMM_OK;
}

static int parse_port(struct symm__rendezvous_url *url, const char *text, size_t size) {
    char digits[8];
    if (size >= sizeof digits) return fail_url(url, "has a port that is not from 0 to 65535");
    memcpy(digits, text, size);
    digits[size] = '\0';
    url->port = parse_number(digits, 65535);
    return url->port < 0 ? fail_url(url, "has a port that is not from 0 to 65535") : SYMM_OK;
}

/* host, host:port, [v6]:port, @name */
static int parse_authority(struct symm__rendezvous_url *url, const char *text, size_t size) {
    const char *host = text, *colon = memrchr(text, ':', size);
    size_t host_size = size;
    if (size && text[0] == '[') {
        const char *close = memchr(text, ']', size);
        if (!close) return fail_url(url, "has a [ without ]");
        host = text + 1;
        host_size = (size_t)(close - host);
        colon = (size_t)(close + 1 - text) < size ? close + 1 : NULL;
        if (colon && *colon != ':') return fail_url(url, "has something else than a port after ]");
    } else if (colon) {
        host_size = (size_t)(colon - text);
        if (memchr(text, ':', host_size)) {
            return fail_url(url, "has an IPv6 address without [brackets]");
        }
    }
    int rc = copy_part(url, host, host_size, url->host, sizeof url->host);
    if (rc < 0 || !colon) return rc;
    return parse_port(url, colon + 1, size - (size_t)(colon + 1 - text));
}

/* One "key=value" of the query. */
static int parse_argument(struct symm__rendezvous_url *url, const char *text, size_t size) {
    char item[64];
    if (size >= sizeof item) return fail_url(url, "has an argument that is too long");
    memcpy(item, text, size);
    item[size] = '\0';
    char *value = strchr(item, '=');
    if (!value || strchr(value + 1, '=')) {
        return fail_url(url, "has an argument that is not of the form key=value");
    }
    *value++ = '\0';
    int *to = strcmp(item, "rank") == 0         ? &url->rank
              : strcmp(item, "world_size") == 0 ? &url->world_size
                                                : NULL;
    if (!to) {
        return symm__fail(SYMM_EINVALID,
                          "the rendezvous URL '%.200s' has the unknown argument '%s'; known: rank, "
                          "world_size",
                          url->text, item);
    }
    if (*to >= 0) {
        return symm__fail(SYMM_EINVALID, "%s is given twice for the rendezvous URL '%.200s'", item,
                          url->text);
    }
    *to = parse_number(value, INT_MAX - 1);
    if (*to >= 0) return SYMM_OK;
    return symm__fail(SYMM_EINVALID,
                      "%s=%s of the rendezvous URL '%.200s' is not a number from 0 on", item, value,
                      url->text);
}

static int parse_query(struct symm__rendezvous_url *url, const char *query) {
    int rc = SYMM_OK;
    while (rc == SYMM_OK && *query) {
        size_t size = strcspn(query, "&");
        rc = parse_argument(url, query, size);
        query += size + (query[size] == '&');
    }
    return rc;
}

static int parse_url(struct symm__rendezvous_url *url) {
    const char *scheme_end = strstr(url->text, "://");
    if (!scheme_end || scheme_end == url->text) {
        return fail_url(url, "has no scheme: write env:// or tcp://host:port?rank=R&world_size=N");
    }
    int rc = copy_part(url, url->text, (size_t)(scheme_end - url->text), url->scheme,
                       sizeof url->scheme);
    const char *authority = scheme_end + 3;
    size_t authority_size = strcspn(authority, "/?");
    const char *path = authority + authority_size;
    size_t path_size = strcspn(path, "?");
    const char *query = path + path_size;
    if (rc == SYMM_OK) rc = parse_authority(url, authority, authority_size);
    if (rc == SYMM_OK) rc = copy_part(url, path, path_size, url->path, sizeof url->path);
    if (rc == SYMM_OK && *query) rc = parse_query(url, query + 1);
    return rc;
}

/* ---- the place in the job ---- */

static int check_place(int rank, int world_size) {
    if (world_size < 1) {
        return symm__fail(SYMM_EINVALID, "world_size must be above 0, not %d", world_size);
    }
    if (rank >= 0 && rank < world_size) return SYMM_OK;
    return symm__fail(SYMM_EINVALID, "rank must be from 0 to %d (world_size %d), not %d",
                      world_size - 1, world_size, rank);
}

int symm__rendezvous_take_listen_fd(int port) {
    static atomic_flag taken = ATOMIC_FLAG_INIT; /* relaxed: whoever sets it owns the descriptor */
    const char *text = getenv("SYMM_MASTER_LISTEN_FD");
    int fd = text ? parse_number(text, INT_MAX - 1) : -1;
    if (fd < 0 || port <= 0 || symm__socket_port(fd) != port) return -1;
    return atomic_flag_test_and_set_explicit(&taken, memory_order_relaxed) ? -1 : fd;
}

int symm__rendezvous_open_tcp(const char *host, int port, int rank, int world_size,
                              int64_t timeout_ms, symm_store **out) {
    struct symm_tcp_store_options options = SYMM_TCP_STORE_OPTIONS_INIT;
    int rc = check_place(rank, world_size);
    if (rc < 0) return rc;
    options.host = host;
    options.port = host[0] == '@' ? 0 : port;
    options.world_size = world_size;
    options.is_master = rank == 0;
    options.listen_fd = rank == 0 ? symm__rendezvous_take_listen_fd(port) : -1;
    options.timeout_ms = timeout_ms;
    return symm_store_open_tcp(&options, out);
}

/* ---- tcp:// ---- */

static int open_tcp(const struct symm__rendezvous_url *url, struct symm_rendezvous *out) {
    if (!*url->host) return fail_url(url, "has no host");
    if (*url->path) return fail_url(url, "has a path, which tcp:// does not know");
    if (url->port <= 0 && url->host[0] != '@') return fail_url(url, "has no port");
    if (url->rank < 0) return fail_url(url, "has no rank: add rank=R or give it as an argument");
    if (url->world_size < 0) {
        return fail_url(url, "has no world size: add world_size=N or give it as an argument");
    }
    out->rank = url->rank;
    out->world_size = url->world_size;
    return symm__rendezvous_open_tcp(url->host, url->port, url->rank, url->world_size,
                                     url->timeout_ms, &out->store);
}

/* ---- env:// ---- */

static int read_variable(const char *name, const char **out) {
    const char *text = getenv(name);
    if (text && *text) {
        *out = text;
        return SYMM_OK;
    }
    return symm__fail(SYMM_EINVALID, "env:// needs the environment variable %s, which is %s", name,
                      text ? "empty" : "not set");
}

static int read_number_variable(const char *name, int most, int *out) {
    const char *text = NULL;
    int rc = read_variable(name, &text);
    if (rc < 0) return rc;
    int number = parse_number(text, most);
    if (number < 0) {
        return symm__fail(SYMM_EINVALID, "%s=%.100s is not a number from 0 to %d", name, text,
                          most);
    }
    *out = number;
    return SYMM_OK;
}

static int open_env(const struct symm__rendezvous_url *url, struct symm_rendezvous *out) {
    const char *host = NULL;
    int rank = url->rank, world_size = url->world_size, port = -1, rc = SYMM_OK;
    if (*url->host || *url->path)
        return fail_url(url, "has a host or a path, which env:// does not know");
    if (rank < 0) rc = read_number_variable("RANK", INT_MAX - 1, &rank);
    if (rc == SYMM_OK && world_size < 0) {
        rc = read_number_variable("WORLD_SIZE", INT_MAX - 1, &world_size);
    }
    if (rc == SYMM_OK) rc = read_variable("MASTER_ADDR", &host);
    if (rc == SYMM_OK && host[0] != '@') rc = read_number_variable("MASTER_PORT", 65535, &port);
    if (rc < 0) return rc;
    out->rank = rank;
    out->world_size = world_size;
    return symm__rendezvous_open_tcp(host, port, rank, world_size, url->timeout_ms, &out->store);
}

/* ---- all schemes ---- */

static const struct symm__rendezvous_scheme tcp_scheme = {sizeof tcp_scheme, open_tcp};
static const struct symm__rendezvous_scheme env_scheme = {sizeof env_scheme, open_env};

static void register_own(void) {
    symm__rendezvous_register("tcp", &tcp_scheme);
    symm__rendezvous_register("env", &env_scheme);
}

static int check_argument(const char *name, int value) {
    if (value >= -1) return SYMM_OK;
    return symm__fail(SYMM_EINVALID, "%s must be from 0 on, or -1 for the URL's, not %d", name,
                      value);
}

static int rendezvous(struct symm__rendezvous_url *url, struct symm_rendezvous *out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct symm_rendezvous found = {NULL, -1, -1};
    void *scheme = NULL;
    pthread_once(&once, register_own);
    if (!url->text) return symm__fail(SYMM_EINVALID, "the rendezvous URL is NULL");
    int rc = check_argument("rank", url->rank);
    if (rc == SYMM_OK) rc = check_argument("world_size", url->world_size);
    if (rc == SYMM_OK) rc = parse_url(url);
    if (rc == SYMM_OK) rc = symm__registry_find(&schemes, url->scheme, &scheme);
    if (rc == SYMM_OK) rc = ((const struct symm__rendezvous_scheme *)scheme)->open(url, &found);
    if (rc == SYMM_OK) *out = found;
    return rc;
}

int symm_rendezvous_url(const char *text, int rank, int world_size, int64_t timeout_ms,
                        struct symm_rendezvous *out) {
    struct symm__rendezvous_url url = {
        .text = text, .port = -1, .rank = rank, .world_size = world_size, .timeout_ms = timeout_ms};
    struct symm__where where = SYMM__WHERE_NONE;
    where.op = "rendezvous";
    SYMM__GUARD_FORK();
    int rc = rendezvous(&url, out);
    return rc < 0 ? symm__fail_in(&where) : rc;
}
