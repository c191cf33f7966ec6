#include "poster.h"

#include <errno.h>
#include <string.h>

static void finish(poster *poster, int status) {
    if (!poster->busy) return;
    poster->busy = false;
    poster->handler(poster, status, (json){poster->body.bytes, poster->body.length});
}

static void take_sent(connection *connection) {
    poster *self = (poster *)connection;
    if (self->sent) self->sent(self);
}

static void take_body(void *context, const char *bytes, size_t length) {
    buffer_append(&((poster *)context)->body, bytes, length);
}

static void take_end(connection *connection, const char *why, bool broken) {
    poster *self = (poster *)connection;
    if (broken) tally_violation(self->tally, "an answer with %s", why);
    connection_close(connection, false);
    self->tally->reconnects++;
    self->body.length = 0;
    finish(self, 0);
}

static void take_read(connection *connection, size_t unread) {
    poster *self = (poster *)connection;
    if (!self->busy) return take_end(connection, "bytes that nobody asked for", true);
    if (connection->response.state != http_done) return;
    if (unread) tally_violation(self->tally, "%zu bytes after an answer", unread);
    int status = connection->response.status % 600;
    self->tally->statuses[status]++;
    bool by_proxy = self->proxied && status >= 502 && status <= 504;
    if (status >= 400 && !connection->response.problem && !by_proxy) {
        tally_violation(self->tally, "an answer %d that is no application/problem+json", status);
    }
    if (connection->response.closes) connection_close(connection, false);
    finish(self, status);
}

static const connection_kind kind = {take_sent, take_body, take_read, take_end};

void poster_open(poster *poster, tally *tally, void *owner) {
    memset(poster, 0, sizeof *poster);
    poster->connection.kind = &kind;
    poster->tally = tally;
    poster->owner = owner;
}

bool poster_send_again(poster *poster, poster_handler handler) {
    poster->busy = true;
    poster->handler = handler;
    poster->body.length = 0;
    return connection_send(&poster->connection);
}

void poster_send(
    poster *poster, const char *method, const char *path, const char *token, const char *body, poster_handler handler
) {
    connection_ask(&poster->connection, method, path, token, poster->fields, body);
    if (!poster_send_again(poster, handler)) fail("cannot connect: %s", strerror(errno));
}

void poster_close(poster *poster) {
    connection_close(&poster->connection, false);
    buffer_free(&poster->connection.out);
    buffer_free(&poster->body);
}
