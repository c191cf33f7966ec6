// A session and a stream each, of one feature or of several; intents round robin over them.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fleet.h"

static tally found;
static fleet all;
static viewer *viewers;
static unsigned features;

// Writes every session as a line, its id and its token; or takes them from there, instead of making any.
static void keep_sessions(const char *path) {
    FILE *file = fopen(path, "w");
    if (!file) fail("cannot write %s: %s", path, strerror(errno));
    for (unsigned i = 0; i < all.session_count; i++) fprintf(file, "%s %s\n", all.sessions[i].id, all.sessions[i].token);
    if (fclose(file) != 0) fail("cannot write %s: %s", path, strerror(errno));
}

static void take_sessions(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) fail("cannot read %s: %s", path, strerror(errno));
    for (unsigned i = 0; i < all.session_count; i++) {
        if (fscanf(file, "%95s %95s", all.sessions[i].id, all.sessions[i].token) == 2) continue;
        fail("%s has %u sessions, and %u are asked for", path, i, all.session_count);
    }
    fclose(file);
}

// Each session becomes one for each of its features, as if that had a stream of its own.
static void split_sessions(const char *feature) {
    static char names[32][48], paths[32][128];
    session *topics = allocate((size_t)all.session_count * features, sizeof *topics);
    for (unsigned i = 0; i < features; i++) {
        snprintf(names[i], sizeof names[i], "%s-%u", feature, i + 1);
        snprintf(paths[i], sizeof paths[i], "/features/%.47s/intents", names[i]);
    }
    for (unsigned i = 0; i < all.session_count * features; i++) {
        topics[i] = all.sessions[i / features];
        topics[i].index = i;
        topics[i].feature = names[i % features];
        topics[i].intents = paths[i % features];
    }
    free(all.sessions);
    all.sessions = topics;
    all.session_count *= features;
    all.active *= features;
}

static void open_viewer(unsigned index) {
    viewers[index].measured = true;
    viewer_open(&viewers[index], &all.sessions[index * features], features, &found);
}

static bool is_started(unsigned index) { return viewer_started(&viewers[index]); }
static bool is_complete(unsigned index) { return viewer_complete(&viewers[index]); }

static int run_load(const options *options) {
    unsigned streams = options->streams;
    uint64_t latest_ns = 0;
    features = options->features;
    // A session may have all its share of the connections under way, answers and events mixed.
    sessions_set_window(16 * (options->connections / streams + 4));
    fleet_open(&all, options, &found, streams, streams);
    note("streams", streams, "");
    note("rssEmpty", (double)server_kib(options->pid, false), "KiB");
    if (options->tokens) take_sessions(options->tokens);
    else fleet_make_sessions(&all);
    if (options->keep) keep_sessions(options->keep);
    if (features > 1) split_sessions(options->feature);
    viewers = allocate(streams, sizeof *viewers);
    open_each(streams, 256, open_viewer, is_started);
    if (found.cut) fail("%llu of %u streams ended at once", (u64)found.cut, streams);
    note("rssOpen", (double)server_kib(options->pid, true), "KiB");
    fprintf(stderr, "loadgen: %u streams open\n", streams);

    bool answered = options->warmup == 0 || pacer_run(&all, options->rate, options->warmup, &latest_ns);
    tally_forget_latencies(&found);
    uint64_t accepted_before = found.accepted;
    usage before = usage_now(options->pid);
    if (answered) pacer_run(&all, options->rate, options->seconds, &latest_ns);
    usage used = usage_since(before, options->pid);
    double accepted = (double)(found.accepted - accepted_before);
    note("rssEnd", (double)server_kib(options->pid, false), "KiB");
    note("intentsPerSecond", accepted / used.at, "accepted");
    note("latestSendMs", (double)latest_ns / 1e6, "after it was due");
    note_usage(used, "cpuPerIntent", accepted);

    // The events that the answers promise. What comes twice comes late: a moment more, in which only pings may arrive.
    wait_for_each(streams, is_complete, options->drain);
    for (uint64_t quiet = after(0.2); now_ns() < quiet;) network_turn(quiet);
    for (unsigned i = 0; i < streams; i++) viewer_finish(&viewers[i]);
    if (!options->may_conflate && found.matched != found.accepted) {
        tally_violation(
            &found, "%llu intents accepted, %llu events matched", (u64)found.accepted, (u64)found.matched);
    }
    bool passed = tally_faults(&found, options->may_conflate) + found.resets + found.goaways == 0 && found.accepted > 0;
    int code = report("load", &found, options->json, passed);
    for (unsigned i = 0; i < streams; i++) viewer_close(&viewers[i]);
    free(viewers);
    fleet_close(&all);
    return code;
}

const mode load_mode = {
    "load", "sessions with a stream each, intents round robin over them; every event must come once, in order",
    {.streams = 100, .connections = 64, .rate = 2000, .seconds = 10, .warmup = 1, .drain = 10, .feature = "counter",
     .features = 1},
    run_load,
};
