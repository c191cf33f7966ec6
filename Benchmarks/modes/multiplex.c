// Sessions with one stream each that shows several features; intents go round over all features of all sessions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "measure.h"
#include "modes.h"
#include "process.h"
#include "stream.h"

enum { most_features = 32 };

typedef struct {
    stream stream;
    tally *tally;
    unsigned count;
    /// One for each feature, as if it had a stream of its own.
    session *topics;
    checker checkers[most_features];
} viewer;

static char names[most_features][48], paths[most_features][128];

static void take_event(void *context, const sse_event *event) {
    static const char *const members[] = {"feature"};
    viewer *self = context;
    json value, feature;
    bool is_hello = !self->checkers[0].hello;
    bool named = json_members(event->data, members, &value, 1) && json_plain_string(value, &feature);
    unsigned taken = 0;
    for (unsigned i = 0; i < self->count; i++) {
        // What is no feature's own is the first one's.
        bool wanted = is_hello || (named ? json_equals(feature, names[i]) : i == 0);
        if (!wanted) continue;
        check_event(&self->checkers[i], &self->topics[i], self->tally, event, true, self->stream.read_ns);
        taken++;
    }
    if (taken == 0) tally_violation(self->tally, "an event of a feature that the stream does not show");
}

static void make_topics(fleet *fleet, const options *options) {
    unsigned count = options->features;
    session *topics = allocate((size_t)fleet->session_count * count, sizeof *topics);
    for (unsigned i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%s-%u", options->feature, i + 1);
        snprintf(paths[i], sizeof paths[i], "/features/%.47s/intents", names[i]);
    }
    for (unsigned i = 0; i < fleet->session_count * count; i++) {
        topics[i] = fleet->sessions[i / count];
        topics[i].index = i;
        topics[i].feature = names[i % count];
        topics[i].intents = paths[i % count];
    }
    free(fleet->sessions);
    fleet->sessions = topics;
    fleet->session_count *= count;
    fleet->active = fleet->session_count;
}

static bool is_complete(const viewer *viewer, bool only_started) {
    for (unsigned i = 0; i < viewer->count; i++) {
        const checker *checker = &viewer->checkers[i];
        if (only_started ? !checker->started : !check_complete(checker, &viewer->topics[i])) return false;
    }
    return true;
}

static void wait_for(fleet *fleet, viewer *viewers, unsigned count, bool only_started, double seconds) {
    uint64_t deadline = now_ns() + (uint64_t)(seconds * 1e9);
    for (unsigned i = 0; i < count && now_ns() < deadline;) {
        if (viewers[i].stream.finished || is_complete(&viewers[i], only_started)) i++;
        else network_turn(&fleet->network, deadline);
    }
}

int run_multiplex(const options *options) {
    static tally tally;
    static char path[most_features * 64] = "/events";
    fleet fleet;
    unsigned streams = options->streams;
    sessions_set_window(16 * (options->connections / streams + 4));
    fleet_open(&fleet, options, &tally, streams, streams);
    measurement found = {.empty_kib = process_rss_kib(options->pid)};
    fleet_make_sessions(&fleet);
    make_topics(&fleet, options);
    for (unsigned i = 0; i < options->features; i++) {
        size_t length = strlen(path);
        snprintf(path + length, sizeof path - length, "%cfeature=%s", i ? '&' : '?', names[i]);
    }
    viewer *viewers = allocate(streams, sizeof *viewers);
    for (unsigned i = 0; i < streams; i++) {
        viewer *viewer = &viewers[i];
        viewer->tally = &tally;
        viewer->count = options->features;
        viewer->topics = &fleet.sessions[i * options->features];
        viewer->stream.handler = take_event;
        viewer->stream.context = viewer;
        viewer->stream.path = path;
        stream_open_as_set(&viewer->stream, &fleet.network, viewer->topics, &tally, ordinary_socket);
        if (i % 256 == 255) wait_for(&fleet, viewers, i, true, 60);
    }
    wait_for(&fleet, viewers, streams, true, 60);
    measure(&found, &fleet, options);
    wait_for(&fleet, viewers, streams, false, options->drain);
    for (unsigned i = 0; i < fleet.session_count; i++) {
        check_finish(&viewers[i / options->features].checkers[i % options->features], &fleet.sessions[i], &tally);
    }
    if (tally.matched != tally.accepted) {
        tally_violation(
            &tally, "%llu intents accepted, %llu events matched", (unsigned long long)tally.accepted,
            (unsigned long long)tally.matched);
    }
    figure figures[measured_figures];
    measure_figures(&found, streams, figures);
    bool passed = tally_faults(&tally, 0) + tally.resets + tally.goaways == 0 && tally.accepted > 0;
    int code = report(options, &tally, figures, measured_figures, passed);
    for (unsigned i = 0; i < streams; i++) stream_close(&viewers[i].stream);
    free(viewers);
    fleet_close(&fleet);
    return code;
}
