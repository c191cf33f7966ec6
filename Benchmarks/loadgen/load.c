// A session and a stream each, intents round robin over them.
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "measure.h"
#include "modes.h"
#include "process.h"
#include "stream.h"

static void open_streams(fleet *fleet, stream *streams, unsigned count) {
    const unsigned under_way = 256;
    uint64_t deadline = now_ns() + 120u * 1000000000ull;
    unsigned opened = 0, oldest = 0;
    while (oldest < count) {
        while (opened < count && opened - oldest < under_way) {
            stream_open(&streams[opened], &fleet->network, &fleet->sessions[opened], fleet->tally, ordinary_socket);
            streams[opened++].measured = true;
        }
        while (oldest < opened && (streams[oldest].checker.started || streams[oldest].finished)) oldest++;
        if (now_ns() > deadline) fail("only %u of %u streams showed a state within two minutes", oldest, count);
        // With nothing under way no event would end the wait.
        if (oldest < opened) network_turn(&fleet->network, deadline);
    }
    if (fleet->tally->cut) fail("%llu of %u streams ended at once", (unsigned long long)fleet->tally->cut, count);
}

// Waits for the events that the answers promise.
static void drain(fleet *fleet, stream *streams, unsigned count, double seconds) {
    uint64_t deadline = now_ns() + (uint64_t)(seconds * 1e9);
    unsigned complete = 0;
    while (complete < count && now_ns() < deadline) {
        if (streams[complete].finished || check_complete(&streams[complete].checker, streams[complete].session)) {
            complete++;
        } else {
            network_turn(&fleet->network, deadline);
        }
    }
    // What comes twice comes late: a moment more, in which nothing may arrive but pings.
    uint64_t quiet = now_ns() + 200000000u;
    while (now_ns() < quiet) network_turn(&fleet->network, quiet);
}

int run_load(const options *options) {
    static tally tally;
    fleet fleet;
    // A session may have all its share of the connections under way, answers and events mixed.
    sessions_set_window(16 * (options->connections / options->streams + 4));
    fleet_open(&fleet, options, &tally, options->streams, options->streams);
    measurement found = {.empty_kib = process_rss_kib(options->pid)};
    if (options->tokens) fleet_take_sessions(&fleet, options->tokens);
    else fleet_make_sessions(&fleet);
    if (options->keep) fleet_keep_sessions(&fleet, options->keep);
    stream *streams = allocate(options->streams, sizeof *streams);
    open_streams(&fleet, streams, options->streams);
    fprintf(stderr, "loadgen: %u streams open\n", options->streams);

    measure(&found, &fleet, options);
    drain(&fleet, streams, options->streams, options->drain);
    for (unsigned i = 0; i < options->streams; i++) check_finish(&streams[i].checker, streams[i].session, &tally);

    figure figures[measured_figures];
    measure_figures(&found, options->streams, figures);
    bool all_matched = options->may_conflate || tally.matched == tally.accepted;
    if (!all_matched) {
        tally_violation(
            &tally, "%llu intents accepted, %llu events matched", (unsigned long long)tally.accepted,
            (unsigned long long)tally.matched);
    }
    bool passed = tally_faults(&tally, options->may_conflate) + tally.resets + tally.goaways == 0 && tally.accepted > 0;
    int code = report(options, &tally, figures, measured_figures, passed);
    for (unsigned i = 0; i < options->streams; i++) stream_close(&streams[i]);
    free(streams);
    fleet_close(&fleet);
    return code;
}
