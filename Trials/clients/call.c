#include "call.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static const uint64_t millisecond = 1000000, patience = 15000 * millisecond;

static void ready(source *source, uint32_t events);

void call_open(call *call, network *network, survival *found, void *owner, uint64_t seed) {
    memset(call, 0, sizeof *call);
    call->network = network;
    call->found = found;
    call->owner = owner;
    call->random = seed | 1;
    call->source.fd = -1;
    call->source.ready = ready;
}

void call_send(call *call, uint64_t pause_ns, call_handler handler) {
    call->handler = handler;
    call->busy = true;
    call->wake_ns = now_ns() + pause_ns;
    call->deadline_ns = call->wake_ns + patience;
}

// A moment later, on another connection: the server may be down for a while.
static void lost(call *call) {
    network_close(&call->source, false);
    if (!call->busy || call->wake_ns) return;
    call->found->repeats++;
    call->wake_ns = now_ns() + millisecond * (2 + next_random(&call->random) % 14);
}

static void flush(call *call) {
    size_t left = call->request.length - call->sent;
    ssize_t sent = left ? send(call->source.fd, call->request.bytes + call->sent, left, MSG_NOSIGNAL) : 0;
    // What failed is told by the read that follows.
    if (sent > 0) call->sent += (size_t)sent;
    if (call->drop && call->sent == call->request.length) {
        call->drop = false;
        call->found->dropped++;
        network_close(&call->source, next_random(&call->random) & 1);
        call->wake_ns = now_ns() + millisecond * (next_random(&call->random) % 4);
        return;
    }
    bool writing = call->sent < call->request.length;
    if (writing == call->writing) return;
    call->writing = writing;
    network_change(call->network, &call->source, writing ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void start(call *call) {
    call->wake_ns = 0;
    call->sent = 0;
    call->body.length = 0;
    http_reset(&call->response);
    if (call->source.fd >= 0) return flush(call);
    call->source.fd = network_connect(call->network, ordinary_socket);
    if (call->source.fd < 0) return lost(call);
    call->writing = true;
    network_watch(call->network, &call->source, EPOLLIN | EPOLLOUT);
}

uint64_t call_tick(call *call, uint64_t now) {
    if (!call->busy) return UINT64_MAX;
    if (call->wake_ns && call->wake_ns <= now) {
        start(call);
    } else if (!call->wake_ns && call->deadline_ns <= now) {
        call->deadline_ns = now + patience;
        tally_violation(call->found->tally, "no answer in 15 s, and the connection is still open");
        lost(call);
    }
    return call->wake_ns ? call->wake_ns : call->deadline_ns;
}

static void take_body(void *context, const char *bytes, size_t length) {
    call *self = context;
    buffer_append(&self->body, bytes, length);
}

static void ready(source *source, uint32_t events) {
    call *self = (call *)source;
    if ((events & EPOLLOUT) && !(events & (EPOLLERR | EPOLLHUP))) flush(self);
    if (source->fd < 0 || !(events & ~(uint32_t)EPOLLOUT)) return;
    char bytes[16384];
    ssize_t count = recv(source->fd, bytes, sizeof bytes, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0 || !self->busy || self->wake_ns) return lost(self);
    http_feed(&self->response, bytes, (size_t)count, take_body, self);
    if (self->response.state == http_bad) {
        tally_violation(self->found->tally, "an answer with %s", self->response.error);
        return lost(self);
    }
    if (self->response.state != http_done) return;
    if (self->response.closes) network_close(source, false);
    int status = self->response.status;
    self->found->tally->statuses[status % 600]++;
    if (status >= 400 && !self->response.problem) {
        tally_violation(self->found->tally, "an answer %d that is no application/problem+json", status);
    }
    self->busy = false;
    self->handler(self, status, (json){self->body.bytes, self->body.length});
}

void call_close(call *call) {
    network_close(&call->source, false);
    buffer_free(&call->request);
    buffer_free(&call->body);
}
