// Clients that count on through crashes, power cuts and full disks: whoever runs this stops and starts the server as it
// likes. On SIGTERM, or after --seconds, the last intents are brought to an answer and everything is compared.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../Benchmarks/loadgen/fleet.h"
#include "follower.h"
#include "lane.h"
#include "modes.h"

enum { lanes_each = 3, short_lanes = 4, part_lanes = 64 };

typedef struct run {
    fleet fleet;
    survival found;
    tally tally;
    subject *subjects;
    lane *lanes;
    follower *followers;
    unsigned subject_count, lane_count, follower_count;
    bool stopping;
    comeback comeback;
    /// When streams that wait for seconds are looked at again.
    uint64_t followers_due_ns;
} run;

static volatile sig_atomic_t asked_to_stop;
static void stop(int number) {
    (void)number;
    asked_to_stop = 1;
}

// Until `deadline_ns`, or what falls due before.
static void turn(run *run, uint64_t deadline_ns) {
    uint64_t now = now_ns(), next = deadline_ns;
    for (unsigned i = 0; i < run->lane_count; i++) {
        uint64_t due = lane_tick(&run->lanes[i], now);
        if (due < next) next = due;
    }
    if (run->found.comeback) comeback_tick(run->found.comeback);
    for (unsigned i = 0; i < run->follower_count && now >= run->followers_due_ns; i++) {
        uint64_t due = follower_tick(&run->followers[i], now);
        if (due < next) next = due;
    }
    // Thousands are not looked at after each event.
    if (run->found.comeback) {
        if (now >= run->followers_due_ns) run->followers_due_ns = now + 2000000;
        if (run->followers_due_ns < next) next = run->followers_due_ns;
    }
    network_turn(next);
}

// A stream in each of many sessions; lanes that go round them, each in a part of its own.
static void set_up_comeback(run *run, const options *options) {
    run->subject_count = options->streams;
    run->lane_count = options->streams < part_lanes ? options->streams : part_lanes;
    run->subjects = allocate(run->subject_count, sizeof *run->subjects);
    run->lanes = allocate(run->lane_count, sizeof *run->lanes);
    run->followers = allocate(run->subject_count, sizeof *run->followers);
    run->found.comeback = &run->comeback;
    comeback_open(&run->comeback, options->streams);
    uint64_t random = options->seed * 0x9e3779b97f4a7c15u | 1, now = now_ns();
    for (unsigned i = 0; i < run->subject_count; i++) {
        subject *subject = &run->subjects[i];
        subject->session = run->fleet.sessions[i];
        subject->index = subject->counter.index = i;
        subject->found = subject->counter.found = &run->found;
        subject->streams = 1;
        follower *follower = &run->followers[run->follower_count++];
        follower_open(follower, subject, 0, next_random(&random));
        // 5,000 a second at first.
        follower->wake_ns = now + i * 200000ull;
    }
    for (unsigned i = 0; i < run->lane_count; i++) {
        lane *lane = &run->lanes[i];
        uint64_t from = (uint64_t)run->subject_count * i / run->lane_count;
        uint64_t to = (uint64_t)run->subject_count * (i + 1) / run->lane_count;
        lane_open(lane, &run->subjects[from], &run->found, lane_keys, i, next_random(&random));
        lane->part = &run->subjects[from];
        lane->part_count = (unsigned)(to - from);
        lane->think_ns = (uint64_t)((double)run->lane_count / options->rate * 1e9);
        lane->stopping = &run->stopping;
        lane->poster.proxied = options->proxied;
    }
}

// Two streams in every fourth session; lanes of one kind, or of two that count on the same counter.
static void set_up(run *run, const options *options) {
    static const lane_kind kinds[4][lanes_each] = {
        {lane_keys, lane_keys, lane_keys},
        {lane_sequence, lane_sequence, lane_keys},
        {lane_sequence, lane_keys, lane_keys},
        {lane_keys, lane_keys, lane_work},
    };
    run->subject_count = options->sessions;
    run->lane_count = lanes_each * options->sessions + short_lanes;
    run->subjects = allocate(run->subject_count, sizeof *run->subjects);
    run->lanes = allocate(run->lane_count, sizeof *run->lanes);
    run->followers = allocate(2 * run->subject_count, sizeof *run->followers);
    uint64_t random = options->seed * 0x9e3779b97f4a7c15u | 1;
    double think = options->rate > 0 ? (double)run->lane_count / options->rate * 1e9 : 0;
    static subject nobody;
    for (unsigned i = 0; i < run->lane_count; i++) {
        bool brief = i >= lanes_each * run->subject_count;
        subject *subject = brief ? &nobody : &run->subjects[i / lanes_each];
        lane *lane = &run->lanes[i];
        lane_kind kind = brief ? lane_short : kinds[(i / lanes_each) % 4][i % lanes_each];
        lane_open(lane, subject, &run->found, kind, i, next_random(&random));
        lane->think_ns = (uint64_t)think * (kind == lane_work ? 10 : kind == lane_short ? 2 : 1);
        lane->stopping = &run->stopping;
    }
    for (unsigned i = 0; i < run->subject_count; i++) {
        subject *subject = &run->subjects[i];
        subject->session = run->fleet.sessions[i];
        subject->index = subject->counter.index = i;
        subject->found = subject->counter.found = &run->found;
        subject->streams = i % 4 == 0 ? 2 : 1;
        for (unsigned number = 0; number < subject->streams; number++) {
            follower_open(&run->followers[run->follower_count++], subject, number, next_random(&random));
        }
    }
}

// Each stream has shown its first states: from here on it owes every label.
static bool all_streams_shown(const run *run) {
    for (unsigned i = 0; i < run->follower_count; i++) {
        if (!run->followers[i].versions[run->found.comeback ? feature_counter : feature_order]) return false;
    }
    return true;
}

static bool all_idle(const run *run) {
    for (unsigned i = 0; i < run->lane_count; i++) {
        if (!run->lanes[i].idle) return false;
    }
    return true;
}

static bool all_gone(const run *run) {
    for (unsigned i = 0; i < run->subject_count; i++) {
        if (!run->subjects[i].gone) return false;
    }
    return true;
}

static bool all_complete(const run *run) {
    for (unsigned i = 0; i < run->subject_count; i++) {
        if (!subject_complete(&run->subjects[i])) return false;
    }
    for (unsigned i = 0; i < run->follower_count; i++) {
        const follower *follower = &run->followers[i];
        if (follower->subject->gone) continue;
        if (follower->versions[feature_counter] < follower->subject->last_version) return false;
    }
    return true;
}

static void wait_for(run *run, bool (*done)(const struct run *), double seconds, const char *what) {
    uint64_t deadline = after(seconds);
    while (!done(run) && !all_gone(run)) {
        if (now_ns() > deadline) {
            tally_violation(&run->tally, "%s within %.0f s", what, seconds);
            return;
        }
        turn(run, deadline);
    }
}

// Each lane reads the states of its sessions, one session after the other.
static void read_states(run *run, double seconds) {
    unsigned most = run->found.comeback ? 0 : 1;
    for (unsigned i = 0; i < run->lane_count; i++) {
        if (run->lanes[i].part_count > most) most = run->lanes[i].part_count;
    }
    for (unsigned turn = 0; turn < most; turn++) {
        for (unsigned i = 0; i < run->lane_count; i++) {
            lane *lane = &run->lanes[i];
            bool reads = lane->part ? turn < lane->part_count : i % lanes_each == 0 && lane->kind != lane_short;
            if (!reads || !lane->idle) continue;
            if (lane->part) lane->subject = &lane->part[turn];
            if (!lane->subject->gone) lane_read_states(lane);
        }
        wait_for(run, all_idle, seconds, "a state could not be read at the end, or its work never ended");
    }
}

static int finish(run *run, const options *options, double seconds) {
    const survival *f = &run->found;
    for (unsigned i = 0; i < run->subject_count; i++) subject_finish(&run->subjects[i]);
    note("sessions", run->subject_count, "");
    note("seconds", seconds, "s");
#define COUNT(name, unit) note(#name, (double)f->name, unit);
    SURVIVAL_COUNTS(COUNT)
#undef COUNT
    bool passed = f->acknowledged > 0 && run->tally.violations == 0
        && f->lost + f->doubled + f->corrupt + f->labels_never_shown + f->labels_doubled + f->sessions_lost == 0;
    return report("survive", &run->tally, options->json, passed);
}

static int run_survive(const options *options) {
    static run run;
    run.found.tally = &run.tally;
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    // Thousands of sessions take their time.
    double drain = options->streams ? 90 : options->drain;
    unsigned sessions = options->streams ? options->streams : options->sessions;
    fleet_open(&run.fleet, options, &run.tally, sessions, options->streams ? sessions + 200 : 8ull * sessions + 64);
    fleet_make_sessions(&run.fleet);
    for (unsigned i = 0; i < run.fleet.poster_count; i++) poster_close(&run.fleet.posters[i]);
    if (options->streams) set_up_comeback(&run, options);
    else set_up(&run, options);
    wait_for(&run, all_streams_shown, 30, "a stream showed no state");
    for (unsigned i = 0; i < run.lane_count; i++) lane_begin(&run.lanes[i]);
    fprintf(stderr, "loadgen: %u sessions count\n", run.subject_count);

    uint64_t started = now_ns(), end = after(options->seconds);
    while (!asked_to_stop && now_ns() < end && !all_gone(&run)) turn(&run, end);
    double seconds = (double)(now_ns() - started) / 1e9;
    run.stopping = true;
    wait_for(&run, all_idle, drain, "an intent was not answered at the end");
    read_states(&run, drain);
    wait_for(&run, all_complete, drain, "a stream does not show what it owes");
    int code = finish(&run, options, seconds);
    for (unsigned i = 0; i < run.lane_count; i++) poster_close(&run.lanes[i].poster);
    for (unsigned i = 0; i < run.follower_count; i++) stream_close(&run.followers[i].stream);
    for (unsigned i = 0; i < run.subject_count; i++) subject_free(&run.subjects[i]);
    return code;
}

const mode survive_mode = {
    "survive",
    "sessions that count on while the server is killed and started again, until SIGTERM: every intent is repeated until "
    "it is answered, every stream comes back, and in the end all must fit together",
    {.connections = 8, .rate = 1500, .seconds = 3600, .drain = 30, .sessions = 32, .seed = 1, .feature = "counter"},
    run_survive,
};
