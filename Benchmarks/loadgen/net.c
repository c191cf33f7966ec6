#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

void network_open(network *network, const char *host, uint16_t port) {
    memset(network, 0, sizeof *network);
    network->server.sin_family = AF_INET;
    network->server.sin_port = htons(port);
    if (inet_pton(AF_INET, host, &network->server.sin_addr) != 1) {
        fail("--host is '%s'; expected an IPv4 address such as 127.0.0.1", host);
    }
    // A load of this size belongs on a machine of one's own.
    if ((ntohl(network->server.sin_addr.s_addr) >> 24) != 127) {
        fail("--host is '%s'; only addresses of this machine (127.0.0.0/8) are loaded", host);
    }
    network->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (network->epoll < 0) fail("epoll_create1: %s", strerror(errno));
}

void require_files(uint64_t needed) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) fail("getrlimit: %s", strerror(errno));
    if (limit.rlim_cur < needed && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur < needed) {
        fail(
            "this run needs %llu open files and the limit is %llu; raise it (ulimit -n) or ask for fewer streams",
            (unsigned long long)needed, (unsigned long long)limit.rlim_cur);
    }
}

static void choose_source(network *network, int fd) {
    // The port is chosen at connect(), so that one port serves several destinations.
    int on = 1;
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    struct sockaddr_in from = {.sin_family = AF_INET};
    from.sin_addr.s_addr = htonl((127u << 24) + 2 + network->next_source++ % network->source_addresses);
    if (bind(fd, (struct sockaddr *)&from, sizeof from) != 0) fail("bind to a loopback address: %s", strerror(errno));
}

int network_connect(network *network, socket_kind kind) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) fail("socket: %s", strerror(errno));
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (kind == narrow_socket) {
        int segment = 536, receive = 4096;
        setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof receive);
    }
    if (network->source_addresses) choose_source(network, fd);
    if (connect(fd, (struct sockaddr *)&network->server, sizeof network->server) != 0 && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

static void control(network *network, int operation, source *source, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = source};
    if (epoll_ctl(network->epoll, operation, source->fd, &event) != 0) fail("epoll_ctl: %s", strerror(errno));
}

void network_watch(network *network, source *source, uint32_t events) {
    control(network, EPOLL_CTL_ADD, source, events);
}

void network_change(network *network, source *source, uint32_t events) {
    control(network, EPOLL_CTL_MOD, source, events);
}

void network_close(source *source, bool abruptly) {
    if (source->fd < 0) return;
    if (abruptly) {
        struct linger reset = {.l_onoff = 1, .l_linger = 0};
        setsockopt(source->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    }
    close(source->fd);
    source->fd = -1;
}

void network_turn(network *network, uint64_t deadline_ns) {
    uint64_t now = now_ns(), wait = deadline_ns > now ? deadline_ns - now : 0;
    struct timespec timeout = {.tv_sec = (time_t)(wait / 1000000000u), .tv_nsec = (long)(wait % 1000000000u)};
    struct epoll_event events[256];
    int count = epoll_pwait2(network->epoll, events, 256, &timeout, NULL);
    if (count < 0 && errno != EINTR) fail("epoll_pwait2: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        // A handler may close only its own socket, so no later event of this batch is stale.
        source *source = events[i].data.ptr;
        source->ready(source, events[i].events);
    }
}
