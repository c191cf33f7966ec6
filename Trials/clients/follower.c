#include "follower.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "request.h"

#define VIOLATION(...) corrupt(self, __VA_ARGS__)

static void corrupt(follower *self, const char *what, json where) {
    self->subject->found->corrupt++;
    tally_violation(
        self->subject->found->tally, "session %u, stream %u: %s: %.*s", self->subject->index, self->number, what,
        (int)where.length, where.bytes);
}

// Splits `<epoch>.<number>`; false if the epoch is not this stream's.
static bool read_cursor(const follower *self, json cursor, uint64_t *number) {
    size_t epoch = strlen(self->epoch);
    int64_t value;
    if (cursor.length < epoch + 2 || memcmp(cursor.bytes, self->epoch, epoch) != 0 || cursor.bytes[epoch] != '.'
        || !json_integer((json){cursor.bytes + epoch + 1, cursor.length - epoch - 1}, &value) || value < 0) {
        return false;
    }
    *number = (uint64_t)value;
    return true;
}

static void take_hello(follower *self, const sse_event *event) {
    static const char *const names[] = {"session", "epoch", "resumed", "cursor"};
    json values[4], id, epoch, cursor;
    if (!json_members(event->data, names, values, 4) || !json_plain_string(values[0], &id)
        || !json_plain_string(values[1], &epoch) || !json_plain_string(values[3], &cursor)
        || epoch.length >= sizeof self->epoch) {
        return VIOLATION("not a hello", event->data);
    }
    if (!json_equals(id, self->subject->session.id)) VIOLATION("hello names another session", id);
    bool resumed = json_equals(values[2], "true");
    if (resumed != (self->cursor[0] != 0)) VIOLATION("hello's resumed is wrong", event->data);
    if (self->epoch[0] && !json_equals(epoch, self->epoch)) VIOLATION("the log began anew", epoch);
    memcpy(self->epoch, epoch.bytes, epoch.length);
    self->epoch[epoch.length] = 0;
    uint64_t number;
    if (!read_cursor(self, cursor, &number)) return VIOLATION("hello's cursor is not of its epoch", cursor);
    if (number < self->last_id) VIOLATION("hello starts before what this stream was shown", cursor);
    self->resumed_from = number;
    self->last_id = number;
}

static void take_id(follower *self, json id) {
    uint64_t number;
    if (!read_cursor(self, id, &number)) return VIOLATION("an id that is not of the hello's epoch", id);
    if (number < self->last_id) VIOLATION("an id that goes back", id);
    self->last_id = number;
    if (id.length < sizeof self->cursor) snprintf(self->cursor, sizeof self->cursor, "%.*s", (int)id.length, id.bytes);
}

static void take_state(follower *self, const sse_event *event) {
    static const char *const names[] = {"feature", "version", "state"}, *const members[] = {"count"};
    json values[3], text;
    int64_t version, count;
    unsigned feature;
    if (!json_members(event->data, names, values, 3) || !json_integer(values[1], &version)
        || (feature = subject_feature_of(values[0])) == feature_count) {
        return VIOLATION("not a state", event->data);
    }
    if ((uint64_t)version < self->versions[feature]) VIOLATION("a version that goes back", event->data);
    self->versions[feature] = (uint64_t)version;
    self->subject->found->states++;
    if (feature != feature_counter) return;
    if (!json_members(values[2], members, &text, 1) || !json_integer(text, &count)) {
        return VIOLATION("not a counter's state", event->data);
    }
    history_shown(&self->subject->counter, (uint64_t)version, count);
}

static void take_label(follower *self, const sse_event *event) {
    static const char *const names[] = {"feature", "version", "intent", "id", "label"};
    static const char *const members[] = {"type", "count"};
    json values[5], id, intent, kind, label[2];
    int64_t version, count;
    uint64_t turn;
    if (!json_members(event->data, names, values, 5) || !json_integer(values[1], &version)
        || !json_plain_string(values[2], &intent) || !json_plain_string(values[3], &id)
        || !json_members(values[4], members, label, 2) || !json_plain_string(label[0], &kind)) {
        return VIOLATION("not a label", event->data);
    }
    const char *dot = memrchr(id.bytes, '.', id.length);
    if (!dot || !read_cursor(self, (json){id.bytes, (size_t)(dot - id.bytes)}, &turn)) {
        return VIOLATION("a label's id that is not <epoch>.<seq>.<n>", id);
    }
    if (turn <= self->resumed_from) VIOLATION("a label from before the cursor", id);
    uint64_t label_hash = hash_bytes(id.bytes, id.length), intent_hash = hash_bytes(intent.bytes, intent.length);
    uint64_t content = hash_bytes(values[4].bytes, values[4].length) ^ intent_hash * 31 ^ (uint64_t)version;
    subject_label(self->subject, self->number, label_hash, content);
    switch (subject_feature_of(values[0])) {
    case feature_counter:
        if (!json_equals(kind, "milestone") || !json_integer(label[1], &count)) {
            return VIOLATION("not a milestone", event->data);
        }
        history_label(
            &self->subject->counter, self->number, (uint64_t)version, count, intent_hash, label_hash);
        break;
    case feature_lesson: subject_tap_label(self->subject, self->number, intent_hash, label_hash); break;
    case feature_order: VIOLATION("a label of the order, which has none here", event->data); break;
    case feature_count: VIOLATION("a label of another feature", event->data); break;
    }
}

static void take_event(void *context, const sse_event *event) {
    follower *self = context;
    if (!self->hello && json_equals(event->event, "hello")) {
        self->hello = true;
        self->subject->found->connects++;
        take_hello(self, event);
    } else if (json_equals(event->event, "state")) {
        take_state(self, event);
    } else if (json_equals(event->event, "label")) {
        take_label(self, event);
    } else if (json_equals(event->event, "reset")) {
        self->subject->found->tally->resets++;
        VIOLATION("a reset", event->data);
    } else if (json_equals(event->event, "goaway")) {
        self->subject->found->tally->goaways++;
    } else if (!json_equals(event->event, "ping")) {
        VIOLATION("an event that has no place here", event->event);
    }
    if (event->id.bytes) take_id(self, event->id);
}

static void take_body(void *context, const char *bytes, size_t length) {
    follower *self = context;
    if (self->response.status == 200) sse_feed(&self->parser, bytes, length, take_event, self);
}

static void again(follower *self) {
    network_close(&self->source, false);
    self->wake_ns = now_ns() + 1000000 * (2 + next_random(&self->random) % 20);
}

static void request(follower *self) {
    char fields[192] = "";
    if (self->cursor[0]) snprintf(fields, sizeof fields, "Last-Event-ID: %s\r\n", self->cursor);
    buffer out = {0};
    request_append_with(
        &out, "GET", "/events?feature=counter&feature=lesson-detail:7&feature=order-detail:42",
        self->subject->session.token, fields, NULL);
    ssize_t sent = send(self->source.fd, out.bytes, out.length, MSG_NOSIGNAL);
    size_t length = out.length;
    buffer_free(&out);
    if (sent != (ssize_t)length) return again(self);
    self->requested = true;
    network_change(self->network, &self->source, EPOLLIN);
}

static void ready(source *source, uint32_t events) {
    static char bytes[64 << 10];
    follower *self = (follower *)source;
    if (!self->requested && (events & EPOLLOUT) && !(events & (EPOLLERR | EPOLLHUP))) return request(self);
    ssize_t count = recv(source->fd, bytes, sizeof bytes, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return again(self);
    http_feed(&self->response, bytes, (size_t)count, take_body, self);
    const char *error = self->parser.error ? self->parser.error
        : self->response.state == http_bad ? self->response.error : NULL;
    if (error) {
        VIOLATION("no stream", (json){error, strlen(error)});
        return again(self);
    }
    if (self->response.state > http_header && self->response.status != 200) {
        self->subject->found->tally->statuses[self->response.status % 600]++;
        if (self->response.status == 404) {
            subject_gone(self->subject);
            self->stopped = true;
            return network_close(source, false);
        }
        return again(self);
    }
    if (self->response.state == http_done) again(self);
}

void follower_open(follower *follower, network *network, subject *subject, unsigned number, uint64_t seed) {
    memset(follower, 0, sizeof *follower);
    follower->network = network;
    follower->subject = subject;
    follower->number = number;
    follower->random = seed | 1;
    follower->source.fd = -1;
    follower->source.ready = ready;
    follower->wake_ns = 1;
}

uint64_t follower_tick(follower *follower, uint64_t now) {
    if (follower->stopped || !follower->wake_ns) return UINT64_MAX;
    if (follower->wake_ns > now) return follower->wake_ns;
    follower->wake_ns = 0;
    follower->requested = follower->hello = false;
    http_reset(&follower->response);
    buffer_free(&follower->parser.pending);
    follower->parser = (sse_parser){0};
    follower->source.fd = network_connect(follower->network, ordinary_socket);
    if (follower->source.fd < 0) {
        again(follower);
        return follower->wake_ns;
    }
    network_watch(follower->network, &follower->source, EPOLLIN | EPOLLOUT);
    return UINT64_MAX;
}

void follower_close(follower *follower) {
    follower->stopped = true;
    network_close(&follower->source, false);
    buffer_free(&follower->parser.pending);
}
