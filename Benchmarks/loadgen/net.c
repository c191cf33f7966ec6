#include "net.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in server = {.sin_family = AF_INET};
static int epoll;
static bool spread_out;
static unsigned source;

void network_start(unsigned port, uint64_t files, bool spread) {
    server.sin_port = htons((uint16_t)port);
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    spread_out = spread;
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) fail("epoll_create1: %s", strerror(errno));
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) fail("getrlimit: %s", strerror(errno));
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < files) {
        fail(
            "this run needs %llu open files and the limit is %llu; raise it (ulimit -n) or ask for fewer streams",
            (u64)files, (u64)limit.rlim_cur);
    }
}

void network_from(unsigned last) { source = last; }

static void control(connection *connection, int operation, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(epoll, operation, connection->fd, &event) != 0) fail("epoll_ctl: %s", strerror(errno));
}

static bool open_socket(connection *connection) {
    static unsigned next_source;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, segment = 536, receive = 4096;
    if (fd < 0) fail("socket: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connection->narrow) {
        setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof receive);
    }
    if (spread_out || source) {
        // The port is chosen at connect(), so that one port serves several destinations.
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        struct sockaddr_in from = {.sin_family = AF_INET};
        from.sin_addr.s_addr = htonl((127u << 24) + (source ? source : 2 + next_source++ % 8));
        if (bind(fd, (struct sockaddr *)&from, sizeof from) != 0) fail("bind to a loopback address: %s", strerror(errno));
    }
    connection->fd = fd;
    connection->open = connect(fd, (struct sockaddr *)&server, sizeof server) == 0 || errno == EINPROGRESS;
    if (!connection->open) close(fd);
    return connection->open;
}

void connection_ask(
    connection *connection, const char *method, const char *path, const char *token, const char *fields,
    const char *body
) {
    buffer *out = &connection->out;
    out->length = 0;
    buffer_print(out, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n", method, path, ntohs(server.sin_port));
    if (token && *token) buffer_print(out, "Authorization: Bearer %s\r\n", token);
    if (fields) buffer_append(out, fields, strlen(fields));
    if (body) buffer_print(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
    else buffer_append(out, "\r\n", 2);
}

static void flush(connection *c) {
    size_t left = c->out.length - c->sent;
    ssize_t sent = send(c->fd, c->out.bytes + c->sent, left, MSG_NOSIGNAL);
    // What failed is told by the read that follows.
    if (sent > 0) c->sent += (size_t)sent;
    bool writing = c->sent < c->out.length;
    if (writing != c->writing) control(c, EPOLL_CTL_MOD, writing ? EPOLLIN | EPOLLOUT : EPOLLIN);
    c->writing = writing;
    if (!writing && c->kind->sent) c->kind->sent(c);
}

bool connection_send(connection *connection) {
    connection->sent = 0;
    http_reset(&connection->response);
    if (connection->open) {
        if (!connection->writing) flush(connection);
        return true;
    }
    connection->received = 0;
    if (!open_socket(connection)) return false;
    connection->writing = true;
    control(connection, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
    return true;
}

void connection_pause(connection *connection, bool paused) { control(connection, EPOLL_CTL_MOD, paused ? 0 : EPOLLIN); }

void connection_close(connection *connection, bool abruptly) {
    if (!connection->open) return;
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    if (abruptly) setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(connection->fd);
    connection->open = false;
}

static void ready(connection *c, uint32_t events) {
    // One for all: what a connection keeps of it is an event that is not whole yet.
    static char bytes[256 << 10];
    if ((events & EPOLLOUT) && !(events & (EPOLLERR | EPOLLHUP))) flush(c);
    if (!c->open || !(events & ~(uint32_t)EPOLLOUT)) return;
    ssize_t count = recv(c->fd, bytes, c->room ? c->room : sizeof bytes, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return c->kind->ended(c, count < 0 ? strerror(errno) : "cut off without an end", false);
    c->read_ns = now_ns();
    c->received += (size_t)count;
    size_t taken = http_feed(&c->response, bytes, (size_t)count, c->kind->body, c);
    if (c->response.state == http_bad) return c->kind->ended(c, c->response.error, true);
    c->kind->read(c, (size_t)count - taken);
}

void network_turn(uint64_t deadline_ns) {
    uint64_t now = now_ns(), wait = deadline_ns > now ? deadline_ns - now : 0;
    struct timespec timeout = {.tv_sec = (time_t)(wait / 1000000000u), .tv_nsec = (long)(wait % 1000000000u)};
    struct epoll_event events[256];
    int count = epoll_pwait2(epoll, events, 256, &timeout, NULL);
    if (count < 0 && errno != EINTR) fail("epoll_pwait2: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        // A handler may close only its own socket, so no later event of this batch is stale.
        ready(events[i].data.ptr, events[i].events);
    }
}
