// One session with two streams. Intents flow; one stream stops reading until the server can write no more to it, and
// reads again within the write deadline. It must then get the newest state and every label that the outbox held for
// it, in order; the other stream must not have noticed.
#include <stdio.h>

#include "../../Benchmarks/loadgen/check.h"
#include "../../Benchmarks/loadgen/fleet.h"
#include "modes.h"

// The reading stream's findings with the intents', and the slow one's apart.
static tally found, slow_found;
static viewer reading, slow;
static fleet all;

static bool has_started(unsigned index) { return viewer_started(index ? &slow : &reading); }
static bool is_complete(unsigned index) { return viewer_complete(index ? &slow : &reading); }

static void open_one(unsigned index) { viewer_open(index ? &slow : &reading, all.sessions, 1, index ? &slow_found : &found); }

// Intents for a third of the time, until the first `streams` of the two show what these led to; false if they do not.
static bool post(const options *options, unsigned streams) {
    uint64_t latest_ns;
    if (!pacer_run(&all, options->rate, options->seconds / 3, &latest_ns)) fail("intents were not answered within 30 s");
    return wait_for_each(streams, is_complete, options->drain);
}

static double p99_ms(void) { return (double)histogram_quantile(&found.event, 0.99) / 1e6; }

static int run_slow(const options *options) {
    sessions_set_window(1 << 16);
    fleet_open(&all, options, &found, 1, 2);
    fleet_make_sessions(&all);
    reading.measured = slow.stream.connection.narrow = true;
    open_each(2, 1, open_one, has_started);
    if (found.cut + slow_found.cut) fail("a stream ended at once");

    post(options, 1);
    double before = p99_ms();
    tally_forget_latencies(&found);

    connection_pause(&slow.stream.connection, true);
    uint64_t bytes = slow.stream.connection.received, states = slow_found.states, labels = slow_found.labels;
    uint64_t skipped = slow.checkers->skipped;
    fprintf(stderr, "loadgen: one stream stops reading\n");
    if (!post(options, 1)) tally_violation(&found, "the reading stream did not keep up");
    double during = p99_ms();
    uint64_t missed_version = reading.checkers->version;

    fprintf(stderr, "loadgen: it reads again\n");
    uint64_t again = now_ns();
    connection_pause(&slow.stream.connection, false);
    bool caught_up = wait_for_each(2, is_complete, options->drain) && slow.checkers->version >= missed_version;
    double catching_up = (double)(now_ns() - again) / 1e6;
    bytes = slow.stream.connection.received - bytes;
    skipped = slow.checkers->skipped - skipped;
    labels = slow_found.labels - labels;
    if (!caught_up) {
        tally_violation(
            &slow_found, "the slow stream is at version %llu of %llu, %.1f s after it read again",
            (u64)slow.checkers->version, (u64)missed_version, catching_up / 1e3);
    }

    // Both go on as if nothing had been.
    post(options, 2);
    viewer_finish(&reading);
    viewer_finish(&slow);
    // The pause proves something only if the server had to hold back.
    if (skipped == 0) {
        tally_violation(&slow_found, "the slow stream skipped no state: the pause was too short to block it, raise --rate");
    }
    if (during > 10 * before + 20) {
        tally_violation(&found, "POST-to-event p99 of the reading stream went from %.1f to %.1f ms", before, during);
    }
    if (options->expect_overflow && slow_found.labels_lost == 0) {
        tally_violation(&slow_found, "the outbox should have overflowed and no reset said that labels were lost");
    }
    viewer_close(&reading);
    viewer_close(&slow);
    fleet_delete_sessions(&all);

    note("eventP99BeforeMs", before, "of the reading stream");
    note("eventP99DuringMs", during, "while the other does not read");
    note("slowStates", (double)(slow_found.states - states), "shown to the slow one from its pause on");
    note("slowSkipped", (double)skipped, "states that it rightly skipped");
    note("slowLabels", (double)labels, "shown to it from its pause until it had caught up");
    note("slowBytes", (double)bytes, "B, the same");
    note("slowCatchUpMs", catching_up, "from reading again to the newest state and label");
    note("slowResets", (double)slow_found.resets, "");
    note("slowLabelsMissing", (double)slow_found.labels_missing, "without a reset that says so");
    note("slowLabelsLost", (double)slow_found.labels_lost, "that a reset spoke of");
    note("slowFaults", (double)tally_faults(&slow_found, true), "");
    bool passed = tally_faults(&found, true) + found.resets + found.goaways == 0
        && tally_faults(&slow_found, true) + slow_found.goaways == 0
        && (options->expect_overflow || slow_found.resets == 0);
    int code = report("slow", &found, options->json, passed);
    fleet_close(&all);
    return code;
}

const mode slow_mode = {
    "slow", "one session with two streams, one of which stops reading for a while",
    {.connections = 8, .rate = 4000, .seconds = 12, .drain = 10, .feature = "counter"}, run_slow,
};
