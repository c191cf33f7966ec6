#include "reactor.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int epoll;
static const uint32_t gone = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

static void watch(int operation, stream *stream, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = stream};
    if (epoll_ctl(epoll, operation, stream->fd, &event) != 0) fail("epoll_ctl: %m");
}

// One event as a chunk. What the socket does not take waits for the reactor.
static void write_chunk(stream *stream, const text *events) {
    char size[20];
    int size_length = snprintf(size, sizeof size, "%zx\r\n", events->length);
    struct iovec parts[] = {{size, (size_t)size_length}, {events->bytes, events->length}, {"\r\n", 2}};
    size_t length = (size_t)size_length + events->length + 2;
    stream->quiet = false;
    ssize_t sent = 0;
    if (stream->backlog.length == 0) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
        sent = sendmsg(stream->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        // A broken connection is found by the reactor.
        if (sent == (ssize_t)length || (sent < 0 && errno != EAGAIN)) return;
        if (sent < 0) sent = 0;
        watch(EPOLL_CTL_MOD, stream, EPOLLOUT | EPOLLRDHUP);
    }
    size_t skip = (size_t)sent;
    for (int i = 0; i < 3; i++) {
        size_t skipped = skip < parts[i].iov_len ? skip : parts[i].iov_len;
        buffer_append(&stream->backlog, (char *)parts[i].iov_base + skipped, parts[i].iov_len - skipped);
        skip -= skipped;
    }
}

void reactor_add(session *session, int fd, uint64_t shows, const text *events) {
    stream *added = allocate(1, sizeof *added);
    *added = (stream){.session = session, .fd = fd, .shows = shows};
    session->streams = realloc(session->streams, (session->stream_count + 1) * sizeof *session->streams);
    if (!session->streams) fail("out of memory");
    session->streams[session->stream_count++] = added;
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    watch(EPOLL_CTL_ADD, added, EPOLLRDHUP);
    write_chunk(added, events);
}

void reactor_show(session *session, unsigned store, const text *events) {
    for (unsigned i = 0; i < session->stream_count; i++) {
        if (session->streams[i]->shows >> store & 1) write_chunk(session->streams[i], events);
    }
}

static void drop(stream *stream) {
    session *session = stream->session;
    pthread_mutex_lock(&session->lock);
    unsigned at = 0;
    while (session->streams[at] != stream) at++;
    session->streams[at] = session->streams[--session->stream_count];
    // Closing it would not end the watch while libmicrohttpd has not closed its own descriptor of this socket yet.
    epoll_ctl(epoll, EPOLL_CTL_DEL, stream->fd, NULL);
    close(stream->fd);
    pthread_mutex_unlock(&session->lock);
    free(stream->backlog.bytes);
    free(stream);
}

static void flush(stream *stream) {
    pthread_mutex_lock(&stream->session->lock);
    text *backlog = &stream->backlog;
    ssize_t sent = send(stream->fd, backlog->bytes, backlog->length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
        backlog->length -= (size_t)sent;
        memmove(backlog->bytes, backlog->bytes + sent, backlog->length);
    }
    if (backlog->length == 0) {
        free(backlog->bytes);
        *backlog = (text){0};
        watch(EPOLL_CTL_MOD, stream, EPOLLRDHUP);
    }
    pthread_mutex_unlock(&stream->session->lock);
}

static text ping;

static void ping_quiet(session *session) {
    pthread_mutex_lock(&session->lock);
    for (unsigned i = 0; i < session->stream_count; i++) {
        if (session->streams[i]->quiet) write_chunk(session->streams[i], &ping);
        session->streams[i]->quiet = true;
    }
    pthread_mutex_unlock(&session->lock);
}

static int64_t now_ms(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void *run(void *unused) {
    (void)unused;
    struct epoll_event events[256];
    int64_t due = now_ms(CLOCK_MONOTONIC) + 20000;
    for (;;) {
        int64_t now = now_ms(CLOCK_MONOTONIC);
        if (now >= due) {
            due = now + 20000;
            ping.length = 0;
            text_strings(&ping, "event: ping\ndata: {\"t\":", NULL);
            text_number(&ping, now_ms(CLOCK_REALTIME));
            text_strings(&ping, "}\n\n", NULL);
            session_each(ping_quiet);
        }
        int count = epoll_wait(epoll, events, 256, (int)(due - now > 0 ? due - now : 0));
        if (count < 0 && errno != EINTR) fail("epoll_wait: %m");
        for (int i = 0; i < count; i++) {
            if (events[i].events & gone) drop(events[i].data.ptr);
            else flush(events[i].data.ptr);
        }
    }
    return NULL;
}

void reactor_start(void) {
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) fail("epoll_create1: %m");
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0) fail("pthread_create: %m");
    pthread_detach(thread);
}
