// One session with two streams. Intents flow; one stream stops reading until the server can write no more to it, and
// reads again within the write deadline. It must then get the newest state and every label that the outbox held for
// it, in order; the other stream must not have noticed.
#include <stdio.h>

#include "common.h"
#include "modes.h"
#include "pacer.h"
#include "report.h"
#include "stream.h"

static void open_stream(fleet *fleet, stream *stream, tally *tally, socket_kind kind) {
    stream_open(stream, &fleet->network, &fleet->sessions[0], tally, kind);
    uint64_t deadline = now_ns() + 10000000000ull;
    while (!stream->checker.started && !stream->finished) {
        if (now_ns() > deadline) fail("a stream showed no state within 10 s");
        network_turn(&fleet->network, deadline);
    }
    if (stream->finished) fail("a stream ended at once");
}

static void post_for(fleet *fleet, double rate, double seconds) {
    pacer pacer;
    pacer_start(&pacer, fleet, rate, seconds);
    uint64_t deadline = pacer.end_ns + 30000000000ull;
    while (pacer_turn(&pacer, deadline)) {
        if (now_ns() > deadline) fail("intents were not answered within 30 s");
    }
    pacer_free(&pacer);
}

static double p99_ms(const tally *tally) {
    return (double)histogram_quantile(&tally->event, 0.99) / 1e6;
}

static bool drain(fleet *fleet, const stream *stream, double seconds) {
    uint64_t deadline = now_ns() + (uint64_t)(seconds * 1e9);
    while (!stream->finished && !check_complete(&stream->checker, stream->session)) {
        if (now_ns() > deadline) return false;
        network_turn(&fleet->network, deadline);
    }
    return !stream->finished;
}

int run_slow(const options *options) {
    // The reading stream's findings with the intents', and the slow one's apart.
    static tally tally, slow_tally;
    static stream reading, slow;
    fleet fleet;
    sessions_set_window(1 << 16);
    fleet_open(&fleet, options, &tally, 1, 2);
    fleet_make_sessions(&fleet);
    open_stream(&fleet, &reading, &tally, ordinary_socket);
    reading.measured = true;
    open_stream(&fleet, &slow, &slow_tally, narrow_socket);

    post_for(&fleet, options->rate, options->seconds / 3);
    drain(&fleet, &reading, options->drain);
    double before = p99_ms(&tally);
    tally_forget_latencies(&tally);

    stream_pause(&slow);
    uint64_t slow_bytes = slow.bytes, states_before = slow_tally.states, labels_before = slow_tally.labels;
    uint64_t skipped_before = slow.checker.skipped;
    fprintf(stderr, "loadgen: one stream stops reading\n");
    post_for(&fleet, options->rate, options->seconds / 3);
    bool reading_kept_up = drain(&fleet, &reading, options->drain);
    double during = p99_ms(&tally);
    uint64_t missed_version = reading.checker.versions.last;

    fprintf(stderr, "loadgen: it reads again\n");
    uint64_t resumed = now_ns();
    stream_resume(&slow);
    bool caught_up = drain(&fleet, &slow, options->drain);
    double catching_up = (double)(now_ns() - resumed) / 1e6;
    uint64_t labels_after_pause = slow_tally.labels - labels_before;
    uint64_t skipped = slow.checker.skipped - skipped_before;
    slow_bytes = slow.bytes - slow_bytes;
    if (!caught_up) {
        tally_violation(
            &slow_tally, "the slow stream is at version %llu of %llu, %.1f s after it read again",
            (unsigned long long)slow.checker.versions.last, (unsigned long long)missed_version, catching_up / 1e3);
    }

    // Both go on as if nothing had been.
    post_for(&fleet, options->rate, options->seconds / 3);
    drain(&fleet, &reading, options->drain);
    drain(&fleet, &slow, options->drain);
    check_finish(&reading.checker, &fleet.sessions[0], &tally);
    check_finish(&slow.checker, &fleet.sessions[0], &slow_tally);

    // The pause proves something only if the server had to hold back.
    if (skipped == 0) {
        tally_violation(&slow_tally, "the slow stream skipped no state: the pause was too short to block it, raise --rate");
    }
    if (!reading_kept_up) tally_violation(&tally, "the reading stream did not keep up");
    if (during > 10 * before + 20) {
        tally_violation(&tally, "POST-to-event p99 of the reading stream went from %.1f to %.1f ms", before, during);
    }
    if (options->expect_overflow && slow_tally.labels_lost == 0) {
        tally_violation(&slow_tally, "the outbox should have overflowed and no reset said that labels were lost");
    }
    stream_close(&reading);
    stream_close(&slow);
    fleet_delete_sessions(&fleet);

    figure figures[] = {
        {"eventP99BeforeMs", before, "of the reading stream"},
        {"eventP99DuringMs", during, "while the other does not read"},
        {"slowStates", (double)(slow_tally.states - states_before), "shown to the slow one from its pause on"},
        {"slowSkipped", (double)skipped, "states that it rightly skipped"},
        {"slowLabels", (double)labels_after_pause, "shown to it from its pause until it had caught up"},
        {"slowBytes", (double)slow_bytes, "B, the same"},
        {"slowCatchUpMs", catching_up, "from reading again to the newest state and label"},
        {"slowResets", (double)slow_tally.resets, ""},
        {"slowLabelsMissing", (double)slow_tally.labels_missing, "without a reset that says so"},
        {"slowLabelsLost", (double)slow_tally.labels_lost, "that a reset spoke of"},
        {"slowFaults", (double)tally_faults(&slow_tally, true), ""},
    };
    bool passed = tally_faults(&tally, true) + tally.resets + tally.goaways == 0
        && tally_faults(&slow_tally, true) + slow_tally.goaways == 0
        && (options->expect_overflow || slow_tally.resets == 0);
    int code = report(options, &tally, figures, sizeof figures / sizeof *figures, passed);
    fleet_close(&fleet);
    return code;
}
