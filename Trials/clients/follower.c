#include "follower.h"

#include <stdio.h>
#include <string.h>

#include "../../Benchmarks/loadgen/check.h"

#define VIOLATION(...) corrupt(self, __VA_ARGS__)

static void corrupt(follower *self, const char *what, json where) {
    self->subject->found->corrupt++;
    tally_violation(
        self->subject->found->tally, "session %u, stream %u: %s: %.*s", self->subject->index, self->number, what,
        (int)where.length, where.bytes);
}

static void take_hello(follower *self, const sse_event *event) {
    json id, epoch, cursor, resumed;
    uint64_t number;
    if (!json_read(event->data, "session:s epoch:s resumed:j cursor:s", &id, &epoch, &resumed, &cursor)
        || epoch.length >= sizeof self->epoch) {
        return VIOLATION("not a hello", event->data);
    }
    if (!json_equals(id, self->subject->session.id)) VIOLATION("hello names another session", id);
    if (json_equals(resumed, "true") != (self->cursor[0] != 0)) VIOLATION("hello's resumed is wrong", event->data);
    if (self->epoch[0] && !json_equals(epoch, self->epoch)) VIOLATION("the log began anew", epoch);
    snprintf(self->epoch, sizeof self->epoch, "%.*s", (int)epoch.length, epoch.bytes);
    if (!read_cursor(self->epoch, cursor, &number)) return VIOLATION("hello's cursor is not of its epoch", cursor);
    if (number < self->last_id) VIOLATION("hello starts before what this stream was shown", cursor);
    self->resumed_from = self->last_id = number;
}

static void take_id(follower *self, json id) {
    uint64_t number;
    if (!read_cursor(self->epoch, id, &number)) return VIOLATION("an id that is not of the hello's epoch", id);
    if (number < self->last_id) VIOLATION("an id that goes back", id);
    self->last_id = number;
    if (id.length < sizeof self->cursor) snprintf(self->cursor, sizeof self->cursor, "%.*s", (int)id.length, id.bytes);
}

static void take_state(follower *self, const sse_event *event) {
    json name, state;
    int64_t version, count;
    unsigned feature;
    if (!json_read(event->data, "feature:s version:i state:j", &name, &version, &state)
        || (feature = subject_feature_of(name)) == feature_count) {
        return VIOLATION("not a state", event->data);
    }
    if ((uint64_t)version < self->versions[feature]) VIOLATION("a version that goes back", event->data);
    self->versions[feature] = (uint64_t)version;
    self->subject->found->states_shown++;
    if (feature != feature_counter) return;
    if (!json_read(state, "count:i", &count)) return VIOLATION("not a counter's state", event->data);
    history_shown(&self->subject->counter, (uint64_t)version, count);
}

static void take_label(follower *self, const sse_event *event) {
    json name, intent, id, label, kind;
    int64_t version, count;
    uint64_t turn, number;
    if (!json_read(event->data, "feature:s version:i intent:s id:s label:j", &name, &version, &intent, &id, &label)
        || !json_read(label, "type:s", &kind)) {
        return VIOLATION("not a label", event->data);
    }
    if (!read_label_id(self->epoch, id, &turn, &number)) return VIOLATION("a label's id that is not <epoch>.<seq>.<n>", id);
    if (turn <= self->resumed_from) VIOLATION("a label from before the cursor", id);
    uint64_t label_hash = hash_bytes(id.bytes, id.length), intent_hash = hash_bytes(intent.bytes, intent.length);
    uint64_t content = hash_bytes(label.bytes, label.length) ^ intent_hash * 31 ^ (uint64_t)version;
    subject_label(self->subject, self->number, label_hash, content);
    switch (subject_feature_of(name)) {
    case feature_counter:
        if (!json_equals(kind, "milestone") || !json_read(label, "count:i", &count)) {
            return VIOLATION("not a milestone", event->data);
        }
        history_label(&self->subject->counter, self->number, (uint64_t)version, count, intent_hash, label_hash);
        break;
    case feature_lesson: subject_tap_label(self->subject, self->number, intent_hash, label_hash); break;
    case feature_order: VIOLATION("a label of the order, which has none here", event->data); break;
    case feature_count: VIOLATION("a label of another feature", event->data); break;
    }
}

static void take_event(stream *stream, const sse_event *event) {
    follower *self = (follower *)stream;
    if (!self->hello && json_equals(event->event, "hello")) {
        self->hello = true;
        self->subject->found->connects++;
        take_hello(self, event);
        comeback *comeback = self->subject->found->comeback;
        if (comeback && self->round != comeback->round) {
            self->round = comeback->round;
            comeback_returned(comeback, stream->tally);
        }
    } else if (json_equals(event->event, "state")) {
        take_state(self, event);
    } else if (json_equals(event->event, "label")) {
        take_label(self, event);
    } else if (json_equals(event->event, "reset")) {
        stream->tally->resets++;
        VIOLATION("a reset", event->data);
    } else if (json_equals(event->event, "goaway")) {
        stream->tally->goaways++;
        self->told = true;
    } else if (!json_equals(event->event, "ping")) {
        VIOLATION("an event that has no place here", event->event);
    }
    if (event->id.bytes) take_id(self, event->id);
}

// The end for a client that comes back as an EventSource does: after the time that the server named and up to a tenth
// more; not at all where the answer was no stream.
static void wait_for_retry(follower *self, comeback *comeback, stream_end end) {
    stream *stream = &self->stream;
    if (stream->parser.retry) self->retry = stream->parser.retry;
    uint64_t pause_ms = self->retry ? (uint64_t)self->retry : 3000;
    self->wake_ns = now_ns() + 1000000 * (pause_ms + next_random(&self->random) % (pause_ms / 10 + 1));
    if (end == stream_refused) {
        self->stopped = true;
        comeback_refused(comeback, stream->tally);
        tally_violation(
            stream->tally, "session %u: a stream is answered with %d, after which an EventSource does not come back",
            self->subject->index, stream->connection.response.status);
    } else if (!self->hello && !self->told) {
        *(comeback_listens(comeback) ? &comeback->unreachable_late : &comeback->unreachable) += 1;
    } else {
        *(self->told ? &comeback->told : &comeback->cut) += 1;
    }
}

static void take_end(stream *stream, stream_end end, const char *why) {
    follower *self = (follower *)stream;
    connection_close(&stream->connection, false);
    if (self->subject->found->comeback && end != stream_broken) {
        return wait_for_retry(self, self->subject->found->comeback, end);
    }
    if (end == stream_broken) VIOLATION("no stream", ((json){why, strlen(why)}));
    self->stopped = end == stream_refused && stream->connection.response.status == 404;
    if (self->stopped) subject_gone(self->subject);
    self->wake_ns = now_ns() + 1000000 * (2 + next_random(&self->random) % 20);
}

void follower_open(follower *follower, subject *subject, unsigned number, uint64_t seed) {
    *follower = (struct follower){
        .stream = {
            .session = &subject->session, .tally = subject->found->tally, .event = take_event, .ended = take_end,
            // A proxy's own answer has a length.
            .may_be_unframed = subject->found->comeback,
        },
        .subject = subject, .number = number, .random = seed | 1, .wake_ns = 1,
    };
}

uint64_t follower_tick(follower *follower, uint64_t now) {
    char fields[192] = "";
    if (follower->stopped || !follower->wake_ns) return UINT64_MAX;
    if (follower->wake_ns > now) return follower->wake_ns;
    follower->wake_ns = 0;
    follower->hello = follower->told = false;
    if (follower->cursor[0]) snprintf(fields, sizeof fields, "Last-Event-ID: %s\r\n", follower->cursor);
    if (follower->subject->found->comeback) strcat(fields, "Accept: text/event-stream\r\n");
    const char *all = "/events?feature=counter&feature=lesson-detail:7&feature=order-detail:42";
    stream_open(&follower->stream, follower->subject->found->comeback ? "/events?feature=counter" : all, fields);
    return follower->wake_ns ? follower->wake_ns : UINT64_MAX;
}
