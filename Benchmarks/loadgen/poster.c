#include "poster.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "request.h"

static void ready(source *source, uint32_t events);

static void connect_again(poster *poster) {
    poster->source.ready = ready;
    poster->source.fd = network_connect(poster->network, ordinary_socket);
    if (poster->source.fd < 0) fail("cannot connect: %s", strerror(errno));
    poster->writing = true;
    network_watch(poster->network, &poster->source, EPOLLIN | EPOLLOUT);
}

void poster_open(poster *poster, network *network, tally *tally, void *owner) {
    memset(poster, 0, sizeof *poster);
    poster->network = network;
    poster->tally = tally;
    poster->owner = owner;
    connect_again(poster);
}

void poster_close(poster *poster) {
    network_close(&poster->source, false);
    buffer_free(&poster->out);
    buffer_free(&poster->body);
}

// A failed send is left to the read that follows: it tells what became of the connection.
static void flush(poster *poster) {
    ssize_t sent = send(poster->source.fd, poster->out.bytes, poster->out.length, MSG_NOSIGNAL);
    if (sent > 0) buffer_consume(&poster->out, (size_t)sent);
    bool writing = poster->out.length > 0;
    if (writing == poster->writing) return;
    poster->writing = writing;
    network_change(poster->network, &poster->source, writing ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void poster_send(
    poster *poster, const char *method, const char *path, const char *token, const char *body, poster_handler handler
) {
    poster->busy = true;
    poster->handler = handler;
    poster->body.length = 0;
    http_reset(&poster->response);
    request_append_with(&poster->out, method, path, token, poster->fields ? poster->fields : "", body);
    if (!poster->writing) flush(poster);
}

static void finish(poster *poster, int status) {
    json body = {poster->body.bytes, poster->body.length};
    poster->busy = false;
    poster->handler(poster, status, body);
}

static void lost(poster *poster) {
    bool busy = poster->busy;
    network_close(&poster->source, false);
    poster->out.length = 0;
    poster->tally->reconnects++;
    connect_again(poster);
    if (busy) {
        poster->body.length = 0;
        finish(poster, 0);
    }
}

static void take_body(void *context, const char *bytes, size_t length) {
    poster *self = context;
    buffer_append(&self->body, bytes, length);
}

static void ready(source *source, uint32_t events) {
    poster *self = (poster *)source;
    if (source->fd < 0) return;
    if (events & EPOLLOUT) flush(self);
    if (!(events & ~(uint32_t)EPOLLOUT)) return;
    char bytes[16384];
    ssize_t count = recv(source->fd, bytes, sizeof bytes, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return lost(self);
    if (!self->busy) {
        tally_violation(self->tally, "%zd bytes on a connection that waits for no answer", count);
        return lost(self);
    }
    size_t taken = http_feed(&self->response, bytes, (size_t)count, take_body, self);
    if (self->response.state == http_bad) {
        tally_violation(self->tally, "an answer with %s", self->response.error);
        return lost(self);
    }
    if (self->response.state != http_done) return;
    if (taken < (size_t)count) tally_violation(self->tally, "%zu bytes after an answer", (size_t)count - taken);
    bool closes = self->response.closes;
    int status = self->response.status;
    if (closes) {
        network_close(source, false);
        connect_again(self);
    }
    finish(self, status);
}
