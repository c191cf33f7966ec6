#include "stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "request.h"

static void take_event(void *context, const sse_event *event) {
    stream *self = context;
    check_event(&self->checker, self->session, self->tally, event, self->measured, self->read_ns);
}

static void take_body(void *context, const char *bytes, size_t length) {
    stream *self = context;
    if (self->response.status == 200) sse_feed(
            &self->parser, bytes, length, self->handler ? self->handler : take_event,
            self->handler ? self->context : self);
}

static void end(stream *self, const char *why) {
    tally_violation(
        self->tally, "session %u: its stream ended: %s (after %llu bytes)", self->session->index, why,
        (unsigned long long)self->bytes);
    self->tally->cut++;
    self->finished = true;
    network_close(&self->source, false);
}

static void request(stream *self) {
    buffer out = {0};
    char path[96];
    snprintf(path, sizeof path, "/features/%s/events", self->session->feature);
    const char *token = self->session->token[0] ? self->session->token : NULL;
    request_append_with(
        &out, "GET", self->path ? self->path : path, token, self->fields ? self->fields : "", NULL);
    ssize_t sent = send(self->source.fd, out.bytes, out.length, MSG_NOSIGNAL);
    size_t length = out.length;
    buffer_free(&out);
    if (sent != (ssize_t)length) return end(self, "the request could not be sent");
    self->requested = true;
    network_change(self->network, &self->source, EPOLLIN);
}

static void ready(source *source, uint32_t events) {
    // One for all: what a stream keeps of it is an event that is not whole yet.
    static char bytes[256 << 10];
    stream *self = (stream *)source;
    if (!self->requested && (events & EPOLLOUT) && !(events & (EPOLLERR | EPOLLHUP))) return request(self);
    ssize_t count = recv(source->fd, bytes, sizeof bytes, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return end(self, strerror(errno));
    if (count == 0) return end(self, "cut off without a last chunk");
    self->read_ns = now_ns();
    self->bytes += (uint64_t)count;
    http_feed(&self->response, bytes, (size_t)count, take_body, self);
    if (self->parser.error) return end(self, self->parser.error);
    if (self->response.state == http_bad) return end(self, self->response.error);
    if (self->response.state == http_done) return end(self, "the server closed it");
    if (self->response.state > http_header && (self->response.status != 200 || !self->response.event_stream)) {
        self->tally->statuses[self->response.status % 600]++;
        self->tally->http_errors++;
        return end(self, "the answer is no event stream");
    }
    if (self->response.state > http_header && !self->response.chunked && !self->may_be_unframed) end(self, "the stream is not chunked");
}

void stream_open(stream *stream, network *network, session *session, tally *tally, socket_kind kind) {
    memset(stream, 0, sizeof *stream);
    stream_open_as_set(stream, network, session, tally, kind);
}

void stream_open_as_set(stream *stream, network *network, session *session, tally *tally, socket_kind kind) {
    stream->network = network;
    stream->session = session;
    stream->tally = tally;
    stream->source.ready = ready;
    stream->source.fd = network_connect(network, kind);
    if (stream->source.fd < 0) fail("cannot connect: %s", strerror(errno));
    network_watch(network, &stream->source, EPOLLIN | EPOLLOUT);
}

void stream_pause(stream *stream) {
    stream->paused = true;
    network_change(stream->network, &stream->source, 0);
}

void stream_resume(stream *stream) {
    stream->paused = false;
    network_change(stream->network, &stream->source, EPOLLIN);
}

void stream_close(stream *stream) {
    stream->finished = true;
    network_close(&stream->source, false);
    buffer_free(&stream->parser.pending);
}
