// Streams that all come back at once: each must resume where it was, with every label that it missed, once and in order.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "fleet.h"
#include "modes.h"
#include "process.h"
#include "report.h"
#include "stream.h"

// While they are open, and while they are away: so the count comes to 10 once, while nobody looks.
enum { posts_before = 5, posts_away = 10 };

typedef struct run run;

typedef struct {
    stream stream;
    run *run;
    char cursor[64], fields[96];
    int64_t version;
    unsigned replayed;
    bool resumed, back;
} visitor;

struct run {
    fleet fleet;
    visitor *visitors;
    unsigned count, back;
    bool storming;
    uint64_t began_ns;
};

#define VIOLATION(...) tally_violation(run->fleet.tally, "session %u: " __VA_ARGS__)

static void take_label(visitor *self, json data) {
    static const char *const names[] = {"replay", "label"}, *const label_names[] = {"count"};
    run *run = self->run;
    json values[2], count;
    run->fleet.tally->labels++;
    if (!json_members(data, names, values, 2) || !json_equals(values[0], run->storming ? "true" : "false")
        || !json_members(values[1], label_names, &count, 1) || !json_equals(count, "10") || ++self->replayed > 1) {
        VIOLATION("not the one label that it missed: %.*s", self->stream.session->index, (int)data.length, data.bytes);
    }
}

static void take_event(void *context, const sse_event *event) {
    static const char *const names[] = {"version"}, *const hello_names[] = {"resumed", "cursor"};
    visitor *self = context;
    run *run = self->run;
    json values[2];
    if (event->id.bytes && event->id.length < sizeof self->cursor) {
        memcpy(self->cursor, event->id.bytes, event->id.length);
        self->cursor[event->id.length] = 0;
    }
    if (json_equals(event->event, "hello")) {
        self->resumed = json_members(event->data, hello_names, values, 2) && json_equals(values[0], "true");
        if (run->storming && !self->resumed) VIOLATION("its stream did not resume", self->stream.session->index);
    } else if (json_equals(event->event, "state")) {
        run->fleet.tally->states++;
        if (!json_members(event->data, names, values, 1) || !json_integer(values[0], &self->version)) {
            VIOLATION("a state without a version", self->stream.session->index);
        }
    } else if (json_equals(event->event, "label")) {
        take_label(self, event->data);
    } else if (!json_equals(event->event, "ping")) {
        VIOLATION("an event named %.*s", self->stream.session->index, (int)event->event.length, event->event.bytes);
    }
    bool whole = (uint64_t)self->version == self->stream.session->answered_version && self->replayed == 1;
    if (!run->storming || self->back || !self->resumed || !whole) return;
    self->back = true;
    run->back++;
    histogram_record(&run->fleet.tally->event, self->stream.read_ns - run->began_ns);
}

static void take_accepted(fleet *fleet, session *session, int status, json body) {
    static const char *const names[] = {"version"};
    json value;
    int64_t version;
    if (status != 202 || !json_members(body, names, &value, 1) || !json_integer(value, &version)) {
        fleet->tally->http_errors++;
        tally_violation(fleet->tally, "an intent got %d: %.*s", status, (int)body.length, body.bytes);
        return;
    }
    fleet->tally->accepted++;
    session->answered_version = (uint64_t)version;
}

static void post_to_each(run *run, unsigned times) {
    for (unsigned i = 0; i < times; i++) {
        fleet_each(
            &run->fleet, "POST", run->fleet.intents, "{\"type\":\"add\",\"amount\":1}", take_accepted);
    }
}

static void open_one(run *run, unsigned index) {
    visitor *visitor = &run->visitors[index];
    char cursor[64];
    memcpy(cursor, visitor->cursor, sizeof cursor);
    memset(visitor, 0, sizeof *visitor);
    visitor->run = run;
    visitor->stream.handler = take_event;
    visitor->stream.context = visitor;
    if (run->storming) snprintf(visitor->fields, sizeof visitor->fields, "Last-Event-ID: %s\r\n", cursor);
    visitor->stream.fields = visitor->fields;
    stream_open_as_set(
        &visitor->stream, &run->fleet.network, &run->fleet.sessions[index], run->fleet.tally, ordinary_socket);
}

static bool shows_newest(const visitor *visitor) {
    if (visitor->stream.finished || visitor->back) return true;
    return !visitor->run->storming && visitor->version > 0;
}

// `at_once`: how many may be opening at a time.
static void open_all(run *run, unsigned at_once) {
    uint64_t deadline = now_ns() + 120u * 1000000000ull;
    unsigned opened = 0, oldest = 0;
    while (oldest < run->count) {
        while (opened < run->count && opened - oldest < at_once) open_one(run, opened++);
        while (oldest < opened && shows_newest(&run->visitors[oldest])) oldest++;
        if (now_ns() > deadline) fail("only %u of %u streams were back within two minutes", oldest, run->count);
        if (oldest < opened) network_turn(&run->fleet.network, deadline);
    }
}

static void wait_for_newest(run *run) {
    uint64_t deadline = now_ns() + 10000000000ull;
    for (unsigned i = 0; i < run->count && now_ns() < deadline;) {
        const visitor *visitor = &run->visitors[i];
        if ((uint64_t)visitor->version == visitor->stream.session->answered_version) i++;
        else network_turn(&run->fleet.network, deadline);
    }
}

int run_storm(const options *options) {
    static tally tally;
    static run run;
    run.count = options->streams;
    fleet_open(&run.fleet, options, &tally, run.count, run.count);
    run.visitors = allocate(run.count, sizeof *run.visitors);
    fleet_make_sessions(&run.fleet);
    open_all(&run, 256);
    post_to_each(&run, posts_before);
    wait_for_newest(&run);
    for (unsigned i = 0; i < run.count; i++) stream_close(&run.visitors[i].stream);
    post_to_each(&run, posts_away);
    double cpu = own_cpu_seconds(), server = process_cpu_seconds(options->pid), started = unix_seconds();
    run.storming = true;
    run.began_ns = now_ns();
    open_all(&run, options->at_once ? options->at_once : run.count);
    double seconds = (double)(now_ns() - run.began_ns) / 1e9;
    cpu = own_cpu_seconds() - cpu;
    server = process_cpu_seconds(options->pid) - server;
    // They are not only back, they are alive.
    post_to_each(&run, 1);
    wait_for_newest(&run);
    for (unsigned i = 0; i < run.count; i++) {
        const visitor *visitor = &run.visitors[i];
        if ((uint64_t)visitor->version == visitor->stream.session->answered_version) continue;
        tally_violation(&tally, "session %u: its resumed stream shows nothing new", i);
    }
    figure figures[] = {
        {"streams", run.count, ""},
        {"startedAt", started, "unix s"},
        {"secondsUntilAllAreBack", seconds, "s"},
        {"streamsPerSecond", run.back / seconds, "resumed"},
        {"cpuPerStream", run.back ? server * 1e6 / run.back : 0, "us of the server's"},
        {"serverCores", server / seconds, ""},
        {"generatorCores", cpu / seconds, ""},
    };
    bool passed = run.back == run.count && tally_faults(&tally, 0) == 0;
    int code = report(options, &tally, figures, sizeof figures / sizeof *figures, passed);
    for (unsigned i = 0; i < run.count; i++) stream_close(&run.visitors[i].stream);
    free(run.visitors);
    fleet_close(&run.fleet);
    return code;
}
