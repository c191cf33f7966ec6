// Streams that all come back at once: each must resume where it was, with every label that it missed, once and in order.
#include <stdio.h>
#include <stdlib.h>

#include "../loadgen/fleet.h"
#include "../loadgen/stream.h"
#include "modes.h"

// While they are open, and while they are away: so the count comes to 10 once, while nobody looks.
enum { posts_before = 5, posts_away = 10 };

typedef struct {
    stream stream;
    char cursor[64];
    int64_t version;
    unsigned replayed;
    bool resumed, back;
} visitor;

static tally found;
static fleet all;
static visitor *visitors;
static unsigned count, back;
static bool storming;
static uint64_t began_ns;

static bool shows_newest(unsigned index) {
    return (uint64_t)visitors[index].version == all.sessions[index].answered_version;
}

#define VIOLATION(what, json) \
    tally_violation(&found, "session %u: %s: %.*s", stream->session->index, what, (int)(json).length, (json).bytes)

static void take_event(stream *stream, const sse_event *event) {
    visitor *self = (visitor *)stream;
    json resumed, replay;
    int64_t milestone;
    if (event->id.bytes) snprintf(self->cursor, sizeof self->cursor, "%.*s", (int)event->id.length, event->id.bytes);
    if (json_equals(event->event, "hello")) {
        self->resumed = json_read(event->data, "resumed:j", &resumed) && json_equals(resumed, "true");
        if (storming && !self->resumed) VIOLATION("its stream did not resume", event->data);
    } else if (json_equals(event->event, "state")) {
        found.states++;
        if (!json_read(event->data, "version:i", &self->version)) VIOLATION("a state without a version", event->data);
    } else if (json_equals(event->event, "label")) {
        found.labels++;
        if (!json_read(event->data, "replay:j label.count:i", &replay, &milestone) || milestone != 10
            || !json_equals(replay, storming ? "true" : "false") || ++self->replayed > 1) {
            VIOLATION("not the one label that it missed", event->data);
        }
    } else if (!json_equals(event->event, "ping")) {
        VIOLATION("an event with this name", event->event);
    }
    if (!storming || self->back || !self->resumed || self->replayed != 1 || !shows_newest(stream->session->index)) return;
    self->back = true;
    back++;
    histogram_record(&found.event, stream->connection.read_ns - began_ns);
}

static void take_accepted(fleet *fleet, session *session, int status, json body) {
    int64_t version;
    if (status == 202 && json_read(body, "version:i", &version)) {
        fleet->tally->accepted++;
        session->answered_version = (uint64_t)version;
        return;
    }
    fleet->tally->http_errors++;
    tally_violation(fleet->tally, "an intent got %d: %.*s", status, (int)body.length, body.bytes);
}

static void post_to_each(unsigned times) {
    while (times--) fleet_each(&all, "POST", all.intents, intent, take_accepted);
}

static void open_visitor(unsigned index) {
    char fields[96];
    snprintf(fields, sizeof fields, "Last-Event-ID: %s\r\n", visitors[index].cursor);
    visitors[index] = (visitor){.stream = {.session = &all.sessions[index], .tally = &found, .event = take_event}};
    stream_open(&visitors[index].stream, NULL, storming ? fields : NULL);
}

static bool is_open(unsigned index) {
    const visitor *visitor = &visitors[index];
    return visitor->stream.finished || visitor->back || (!storming && visitor->version > 0);
}

static int run_storm(const options *options) {
    count = options->streams;
    fleet_open(&all, options, &found, count, count);
    visitors = allocate(count, sizeof *visitors);
    fleet_make_sessions(&all);
    open_each(count, 256, open_visitor, is_open);
    post_to_each(posts_before);
    wait_for_each(count, shows_newest, 10);
    for (unsigned i = 0; i < count; i++) stream_close(&visitors[i].stream);
    post_to_each(posts_away);
    note("streams", count, "");
    usage before = usage_now(options->pid);
    storming = true;
    began_ns = now_ns();
    open_each(count, count, open_visitor, is_open);
    usage used = usage_since(before, options->pid);
    // They are not only back, they are alive.
    post_to_each(1);
    if (!wait_for_each(count, shows_newest, 10)) tally_violation(&found, "a resumed stream shows nothing new");
    note("secondsUntilAllAreBack", used.at, "s");
    note("streamsPerSecond", back / used.at, "resumed");
    note_usage(used, "cpuPerStream", back);
    int code = report("storm", &found, options->json, back == count && tally_faults(&found, false) == 0);
    for (unsigned i = 0; i < count; i++) stream_close(&visitors[i].stream);
    free(visitors);
    fleet_close(&all);
    return code;
}

const mode storm_mode = {
    "storm", "streams that all come back at once with their cursors, for what happened while they were away",
    {.streams = 100, .connections = 64, .feature = "counter"}, run_storm,
};
