/* SPDX-License-Identifier: MIT */
#include "store/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/error.h"
#include "store/resolve.h"

void symm__address_text(const char *host, int port, char *text, size_t size) {
    if (host[0] == '@') {
        snprintf(text, size, "%s", host);
    } else {
        snprintf(text, size, strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, port);
    }
}

int symm__socket_open(int family) {
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;
    if (fd >= 0 && family != AF_UNIX) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    }
    return fd;
}

/* ---- listening ---- */

static int fail_listen(int error, const char *host, int port) {
    char text[SYMM__ADDRESS_SIZE];
    symm__address_text(host, port, text, sizeof text);
    if (error == EADDRINUSE && host[0] == '@') {
        return symm__fail(SYMM_ENETWORK, "the socket %s is in use; another job may run under it",
                          text);
    }
    if (error == EADDRINUSE) {
        return symm__fail(
            SYMM_ENETWORK,
            "port %d is in use (%s); another job may use it: choose another, or port 0", port,
            text);
    }
    return symm__fail(SYMM_ENETWORK, "cannot listen on %s: %s", text, strerror(error));
}

/* A listening socket, or -errno. */
static int listen_at(const struct symm__address *address) {
    int on = 1, off = 0;
    int fd = symm__socket_open(address->at.any.sa_family);
    if (fd < 0) return -errno;
    if (address->at.any.sa_family != AF_UNIX) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    if (address->at.any.sa_family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (bind(fd, &address->at.any, address->size) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
    int error = errno;
    close(fd);
    return -error;
}

static int listen_everywhere(int port) {
    struct symm__address address = {.size = sizeof address.at.in6};
    address.at.in6.sin6_family = AF_INET6;
    address.at.in6.sin6_port = htons((uint16_t)port);
    int fd = listen_at(&address);
    if (fd >= 0 || fd == -EADDRINUSE || fd == -EACCES) return fd;
    struct symm__address old = {.size = sizeof old.at.in}; /* no IPv6 here */
    old.at.in.sin_family = AF_INET;
    old.at.in.sin_port = htons((uint16_t)port);
    return listen_at(&old);
}

static int is_wildcard(const char *host) {
    return !*host || strcmp(host, "*") == 0 || strcmp(host, "0.0.0.0") == 0 ||
           strcmp(host, "::") == 0;
}

/* Binds to what a number or "localhost" stands for. */
static int listen_on_address(const char *host, int port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *list = NULL;
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    if (strcmp(host, "localhost") != 0) hints.ai_flags |= AI_NUMERICHOST;
    if (getaddrinfo(host, service, &hints, &list) != 0) return -EADDRNOTAVAIL; /* a name */
    int fd = -EADDRNOTAVAIL;
    for (struct addrinfo *info = list; info && fd < 0 && fd != -EADDRINUSE; info = info->ai_next) {
        struct symm__address address = {.size = info->ai_addrlen};
        memcpy(&address.at, info->ai_addr, info->ai_addrlen);
        fd = listen_at(&address);
    }
    freeaddrinfo(list);
    return fd;
}

int symm__socket_listen(const char *host, int port, int *fd_out) {
    int fd = -EADDRNOTAVAIL;
    if (host[0] == '@') {
        struct symm__address address;
        int rc = symm__resolve_unix(host, &address);
        if (rc < 0) return rc;
        fd = listen_at(&address);
    } else {
        if (!is_wildcard(host)) fd = listen_on_address(host, port);
        if (fd == -EADDRNOTAVAIL) fd = listen_everywhere(port);
    }
    if (fd < 0) return fail_listen(-fd, host, port);
    *fd_out = fd;
    return SYMM_OK;
}

/* ---- what a descriptor is ---- */

static int family_of(int fd, struct symm__address *address) {
    memset(address, 0, sizeof *address);
    address->size = sizeof address->at;
    if (getsockname(fd, &address->at.any, &address->size) < 0) return -1;
    return address->at.any.sa_family;
}

int symm__socket_port(int fd) {
    struct symm__address address;
    switch (family_of(fd, &address)) {
    case AF_INET: return ntohs(address.at.in.sin_port);
    case AF_INET6: return ntohs(address.at.in6.sin6_port);
    default: return -1;
    }
}

int symm__socket_is_unix(int fd) {
    struct symm__address address;
    return family_of(fd, &address) == AF_UNIX;
}

int symm__socket_self(int fd, char *host, size_t size, int *port_out) {
    struct symm__address address;
    int family = family_of(fd, &address);
    int any4 = family == AF_INET && address.at.in.sin_addr.s_addr == htonl(INADDR_ANY);
    int any6 = family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&address.at.in6.sin6_addr);
    *port_out = symm__socket_port(fd);
    if (family == AF_UNIX && address.at.un.sun_path[0] == '\0') {
        int name_size = (int)(address.size - offsetof(struct sockaddr_un, sun_path)) - 1;
        snprintf(host, size, "@%.*s", name_size, address.at.un.sun_path + 1);
    } else if (any4 || any6) { /* an IPv6 one is dual stack */
        snprintf(host, size, "127.0.0.1");
    } else if (family == AF_UNIX || getnameinfo(&address.at.any, address.size, host,
                                                (socklen_t)size, NULL, 0, NI_NUMERICHOST) != 0) {
        return symm__fail(SYMM_EINVALID, "descriptor %d is no internet or abstract Unix socket",
                          fd);
    }
    return SYMM_OK;
}

static int check_adoptable(int fd, int port) {
    int type = 0, accepting = 0;
    socklen_t size = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_STREAM) {
        return symm__fail(SYMM_EINVALID, "listen_fd %d is no stream socket", fd);
    }
    int bound = symm__socket_port(fd);
    if (bound == 0) return symm__fail(SYMM_EINVALID, "listen_fd %d is not bound to a port", fd);
    if (bound > 0 && port > 0 && bound != port) {
        return symm__fail(SYMM_EINVALID, "listen_fd %d is bound to port %d, not %d", fd, bound,
                          port);
    }
    size = sizeof accepting;
    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepting, &size);
    if (!accepting && listen(fd, SOMAXCONN) < 0) return fail_listen(errno, "listen_fd", bound);
    return SYMM_OK;
}

int symm__socket_adopt(int fd, int port, int *fd_out) {
    int rc = check_adoptable(fd, port);
    if (rc < 0) return rc;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return symm__fail_errno(errno, "listen_fd %d", fd);
    fcntl(copy, F_SETFL, fcntl(copy, F_GETFL) | O_NONBLOCK);
    *fd_out = copy;
    return SYMM_OK;
}

int symm__socket_check_peer(int fd) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (!symm__socket_is_unix(fd)) return SYMM_OK;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
        return symm__fail(SYMM_ENETWORK, "who is at the other end of the socket is unknown: %s",
                          strerror(errno));
    }
    if (peer.uid == geteuid()) return SYMM_OK;
    return symm__fail(SYMM_ENETWORK, "the other end of the socket belongs to user %u, not %u",
                      (unsigned)peer.uid, (unsigned)geteuid());
}

int symm__socket_poll(int fd, short events, int64_t deadline_ns) {
    struct pollfd entry = {.fd = fd, .events = events};
    int n = poll(&entry, 1, (int)symm__deadline_left_ms(deadline_ns, SYMM_WAIT_SLICE_MS));
    if (n > 0) return 1;
    return symm__wait_poll();
}
