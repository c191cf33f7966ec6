// Clients that keep to the contract while others flood the server: each has a session, a stream and an intent at a fixed
// rate, and every few seconds makes a new session with a new stream. Every request must succeed.
#include <stdio.h>
#include <stdlib.h>

#include "../../Benchmarks/loadgen/check.h"
#include "../../Benchmarks/loadgen/fleet.h"
#include "modes.h"

/// A client that makes a new session and a new stream every `period_ms`.
typedef struct {
    poster poster;
    session session;
    viewer viewer;
    enum { away, making, opening, leaving } step;
    uint64_t due_ns, since_ns;
} newcomer;

// A little fewer new sessions a second than an address may make.
enum { period_ms = 12000, patience_ms = 10000 };
static const uint64_t millisecond = 1000000;

static tally found;
static fleet all;
static viewer *viewers;
static newcomer *newcomers;
static unsigned count;
static bool closing;
static uint64_t asked, succeeded;
static histogram new_sessions, new_streams;

static void open_viewer(unsigned index) {
    viewers[index].measured = true;
    viewer_open(&viewers[index], &all.sessions[index], 1, &found);
}
static bool is_started(unsigned index) { return viewer_started(&viewers[index]); }
static bool is_complete(unsigned index) { return viewer_complete(&viewers[index]); }

// --- Newcomers ---

static void rest(newcomer *self) {
    self->step = away;
    self->due_ns += period_ms * millisecond;
}

static void give_up(newcomer *self, const char *what, int status) {
    tally_violation(&found, "a new client: %s (status %d)", what, status);
    found.http_errors++;
    rest(self);
}

static void take_left(poster *poster, int status, json body) {
    newcomer *self = poster->owner;
    (void)body;
    if (status != 204) return give_up(self, "its session could not be deleted", status);
    succeeded++;
    rest(self);
}

static void take_made(poster *poster, int status, json body) {
    newcomer *self = poster->owner;
    if (status != 201 || !session_take(&self->session, body)) return give_up(self, "it got no session", status);
    uint64_t now = now_ns();
    succeeded++;
    histogram_record(&new_sessions, now - self->since_ns);
    self->step = opening;
    self->since_ns = now;
    asked++;
    self->viewer = (viewer){0};
    viewer_open(&self->viewer, &self->session, 1, &found);
}

static void take_opened(newcomer *self) {
    const viewer *viewer = &self->viewer;
    bool shown = !viewer->stream.finished;
    if (shown) histogram_record(&new_streams, viewer->stream.connection.read_ns - self->since_ns);
    succeeded += shown;
    viewer_close(&self->viewer);
    self->step = leaving;
    self->since_ns = now_ns();
    asked++;
    poster_send(&self->poster, "DELETE", "/sessions/current", self->session.token, NULL, take_left);
}

static void newcomer_tick(newcomer *self, uint64_t now) {
    if (self->step == away) {
        if (closing || now < self->due_ns) return;
        self->step = making;
        self->since_ns = now;
        self->session = (session){.index = self->session.index, .feature = all.sessions->feature};
        asked++;
        poster_send(&self->poster, "POST", "/sessions", NULL, NULL, take_made);
    } else if (self->step == opening && viewer_started(&self->viewer)) {
        take_opened(self);
    } else if (now - self->since_ns > patience_ms * millisecond) {
        if (self->step == opening) viewer_close(&self->viewer);
        connection_close(&self->poster.connection, true);
        self->poster.busy = false;
        give_up(self, "no answer within 10 s", 0);
    }
}

static bool tick_all(void) {
    uint64_t now = now_ns();
    bool busy = false;
    for (unsigned i = 0; i < count; i++) {
        newcomer_tick(&newcomers[i], now);
        busy |= newcomers[i].step != away;
    }
    return busy;
}

static void note_quantiles(const char *p50, const char *p99, const histogram *histogram) {
    note(p50, (double)histogram_quantile(histogram, 0.5) / 1e6, "ms");
    note(p99, (double)histogram_quantile(histogram, 0.99) / 1e6, "ms");
}

static int run_guests(const options *options) {
    count = options->clients;
    fleet_open(&all, options, &found, count, 3 * count);
    fleet_make_sessions(&all);
    viewers = allocate(count, sizeof *viewers);
    newcomers = allocate(count, sizeof *newcomers);
    open_each(count, 32, open_viewer, is_started);
    if (found.cut) fail("%llu of %u streams ended at once", (u64)found.cut, count);
    for (unsigned i = 0; i < count; i++) {
        poster_open(&newcomers[i].poster, &found, &newcomers[i]);
        newcomers[i].session.index = count + i;
        newcomers[i].due_ns = now_ns() + (uint64_t)i * period_ms * millisecond / count;
    }
    fprintf(stderr, "loadgen: %u clients are in\n", count);

    usage before = usage_now(options->pid);
    pacer pacer;
    pacer_start(&pacer, &all, options->rate, options->seconds);
    uint64_t deadline = pacer.end_ns + 30000 * millisecond;
    while (pacer_turn(&pacer, after(0.005)) && now_ns() < deadline) tick_all();
    if (pacer.free_count < all.poster_count) {
        tally_violation(&found, "%u intents were not answered in 30 s", all.poster_count - pacer.free_count);
    }
    usage used = usage_since(before, options->pid);
    closing = true;
    while (tick_all()) network_turn(after(0.005));
    wait_for_each(count, is_complete, options->drain);
    for (unsigned i = 0; i < count; i++) viewer_finish(&viewers[i]);
    if (found.matched != found.accepted) {
        tally_violation(&found, "%llu intents accepted, %llu events matched", (u64)found.accepted, (u64)found.matched);
    }

    note("clients", count, "");
    note("requests", (double)(found.posted + asked), "intents, new sessions, new streams and deletions");
    note("successPercent", 100.0 * (double)(found.accepted + succeeded) / (double)(found.posted + asked), "%");
    note("latestSendMs", (double)pacer.latest_ns / 1e6, "after it was due");
    note_quantiles("newSessionP50", "newSessionP99", &new_sessions);
    note_quantiles("newStreamP50", "newStreamP99", &new_streams);
    note_usage(used, "cpuPerIntent", (double)found.accepted);
    bool passed = tally_faults(&found, options->may_conflate) + found.resets + found.goaways == 0
        && found.accepted + succeeded == found.posted + asked && new_streams.count > 0;
    int code = report("guests", &found, options->json, passed);
    pacer_free(&pacer);
    for (unsigned i = 0; i < count; i++) {
        viewer_close(&viewers[i]);
        poster_close(&newcomers[i].poster);
    }
    free(viewers);
    free(newcomers);
    fleet_close(&all);
    return code;
}

const mode guests_mode = {
    "guests",
    "clients with a session, a stream and an intent at a fixed rate, and new ones every few seconds: all must succeed",
    {.connections = 100, .clients = 100, .rate = 400, .seconds = 30, .drain = 10, .feature = "counter", .from = 20},
    run_guests,
};
