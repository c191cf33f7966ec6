#include "stream.h"

#include <stdio.h>
#include <string.h>

static void end(stream *self, stream_end end, const char *why) {
    if (end == stream_refused) self->tally->statuses[self->connection.response.status % 600]++;
    if (self->ended) return self->ended(self, end, why);
    tally_violation(
        self->tally, "session %u: its stream ended: %s (after %zu bytes)", self->session->index, why,
        self->connection.received);
    if (end == stream_refused) self->tally->http_errors++;
    self->tally->cut++;
    stream_close(self);
}

static void take_event(void *context, const sse_event *event) {
    stream *self = context;
    self->event(self, event);
}

static void take_sent(connection *connection) {
    // Ten thousand idle streams keep no memory for it.
    buffer_free(&connection->out);
    if (((stream *)connection)->sent) ((stream *)connection)->sent((stream *)connection);
}

static void take_body(void *context, const char *bytes, size_t length) {
    stream *self = context;
    if (self->connection.response.status == 200) sse_feed(&self->parser, bytes, length, take_event, self);
}

static void take_end(connection *connection, const char *why, bool broken) {
    end((stream *)connection, broken ? stream_broken : stream_cut, why);
}

static void take_read(connection *connection, size_t unread) {
    (void)unread;
    stream *self = (stream *)connection;
    const http_response *response = &connection->response;
    if (self->parser.error) return end(self, stream_broken, self->parser.error);
    if (response->state <= http_header) return;
    if (response->status != 200) return end(self, stream_refused, "the answer is no event stream");
    if (!response->event_stream) return end(self, stream_broken, "the answer is no event stream");
    if (!response->chunked && !self->may_be_unframed) return end(self, stream_broken, "the stream is not chunked");
    if (response->state == http_done) return end(self, stream_closed, "the server closed it");
    if (self->read) self->read(self);
}

static const connection_kind kind = {take_sent, take_body, take_read, take_end};

void stream_open(stream *stream, const char *path, const char *fields) {
    char own[96];
    snprintf(own, sizeof own, "/features/%s/events", stream->session->feature);
    stream->finished = false;
    buffer_free(&stream->parser.pending);
    stream->parser = (sse_parser){0};
    stream->connection.kind = &kind;
    connection_ask(&stream->connection, "GET", path ? path : own, stream->session->token, fields, NULL);
    if (!connection_send(&stream->connection)) end(stream, stream_cut, "there is no way to connect");
}

void stream_close(stream *stream) {
    stream->finished = true;
    connection_close(&stream->connection, false);
    buffer_free(&stream->connection.out);
    buffer_free(&stream->parser.pending);
}
