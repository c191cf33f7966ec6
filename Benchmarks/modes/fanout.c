// One session with many streams: how fast does one intent reach all of them? The next one is sent when each stream has
// shown the one before, so that a server that writes the newest state only has nothing to leave out.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "fleet.h"
#include "modes.h"
#include "process.h"
#include "report.h"
#include "stream.h"

typedef struct run run;

typedef struct {
    stream stream;
    run *run;
    bool started;
    int64_t version;
} listener;

struct run {
    fleet fleet;
    const options *options;
    listener *listeners;
    unsigned count, shown;
    int64_t version;
    bool answered;
    uint64_t posted_ns;
    histogram last;
};

static void take_event(void *context, const sse_event *event) {
    static const char *const names[] = {"version"};
    listener *self = context;
    run *run = self->run;
    tally *tally = run->fleet.tally;
    json value;
    int64_t version;
    if (!json_equals(event->event, "state")) return;
    if (!json_members(event->data, names, &value, 1) || !json_integer(value, &version)) {
        tally_violation(tally, "a state without a version: %.*s", (int)event->data.length, event->data.bytes);
        return;
    }
    tally->states++;
    if (!self->started) {
        self->started = true;
    } else if (version <= self->version) {
        tally->duplicated++;
        return;
    } else {
        tally->skipped += (uint64_t)(version - self->version - 1);
        histogram_record(&tally->event, self->stream.read_ns - run->posted_ns);
        tally->matched++;
        run->shown++;
        run->version = version;
    }
    self->version = version;
}

static void take_answer(poster *poster, int status, json body) {
    run *run = poster->owner;
    tally *tally = run->fleet.tally;
    run->answered = true;
    tally->statuses[status % 600]++;
    if (status / 100 != 2) {
        tally->http_errors++;
        tally_violation(tally, "an intent got %d: %.*s", status, (int)body.length, body.bytes);
        return;
    }
    tally->accepted++;
    histogram_record(&tally->answer, now_ns() - run->posted_ns);
}

static void post(run *run) {
    static const char intent[] = "{\"type\":\"add\",\"amount\":1}";
    static int64_t published;
    session *session = &run->fleet.sessions[0];
    char message[160];
    // As long as what the others' streams show.
    snprintf(
        message, sizeof message,
        "{\"feature\":\"counter\",\"version\":%lld,\"intent\":\"abcdefghijklm\",\"state\":{\"count\":%lld,\"isLoading\":false}}",
        (long long)published + 2, (long long)published + 1);
    published++;
    run->answered = false;
    run->shown = 0;
    run->fleet.tally->posted++;
    run->posted_ns = now_ns();
    poster *poster = &run->fleet.posters[0];
    poster->owner = run;
    poster_send(
        poster, "POST", session->intents, session->token[0] ? session->token : NULL,
        run->options->nchan ? message : intent, take_answer);
}

// One intent to all; false if not all had shown it in ten seconds.
static bool round_trip(run *run) {
    uint64_t deadline = now_ns() + 10000000000ull;
    post(run);
    while (!run->answered || run->shown < run->count) {
        if (now_ns() > deadline) {
            tally_violation(
                run->fleet.tally, "%u of %u streams had shown an intent after 10 s", run->shown, run->count);
            return false;
        }
        network_turn(&run->fleet.network, deadline);
    }
    histogram_record(&run->last, now_ns() - run->posted_ns);
    return true;
}

static bool is_open(const listener *listener, bool nchan) {
    return listener->stream.finished || (nchan ? listener->stream.response.state > http_header : listener->started);
}

static void open_all(run *run) {
    uint64_t deadline = now_ns() + 120u * 1000000000ull;
    unsigned opened = 0, oldest = 0;
    bool nchan = run->options->nchan;
    while (oldest < run->count) {
        while (opened < run->count && opened - oldest < 256) {
            listener *listener = &run->listeners[opened++];
            listener->run = run;
            listener->started = nchan;
            listener->version = 1;
            listener->stream.handler = take_event;
            listener->stream.context = listener;
            listener->stream.path = nchan ? "/subscribe/1" : NULL;
            listener->stream.fields = nchan ? "Accept: text/event-stream\r\n" : NULL;
            listener->stream.may_be_unframed = nchan;
            stream_open_as_set(
                &listener->stream, &run->fleet.network, &run->fleet.sessions[0], run->fleet.tally, ordinary_socket);
        }
        while (oldest < opened && is_open(&run->listeners[oldest], nchan)) oldest++;
        if (now_ns() > deadline) fail("only %u of %u streams were open within two minutes", oldest, run->count);
        if (oldest < opened) network_turn(&run->fleet.network, deadline);
    }
}

int run_fanout(const options *options) {
    static tally tally;
    static run run;
    run.options = options;
    run.count = options->streams;
    fleet_open(&run.fleet, options, &tally, 1, options->streams);
    run.listeners = allocate(run.count, sizeof *run.listeners);
    uint64_t empty_kib = process_rss_kib(options->pid);
    if (options->nchan) {
        run.fleet.sessions[0].intents = "/publish/1";
        run.fleet.posters[0].fields = "X-EventSource-Event: state\r\n";
    } else {
        fleet_make_sessions(&run.fleet);
    }
    open_all(&run);
    uint64_t open_kib = process_settled_kib(options->pid, &run.fleet.network);
    uint64_t until = now_ns() + (uint64_t)(options->warmup * 1e9);
    bool held = true;
    while (held && now_ns() < until) held = round_trip(&run);
    tally_forget_latencies(&tally);
    memset(&run.last, 0, sizeof run.last);
    double cpu = own_cpu_seconds(), server = process_cpu_seconds(options->pid), started = unix_seconds();
    uint64_t rounds = 0, began = now_ns();
    until = began + (uint64_t)(options->seconds * 1e9);
    while (held && now_ns() < until) {
        held = round_trip(&run);
        rounds++;
    }
    double seconds = (double)(now_ns() - began) / 1e9;
    cpu = own_cpu_seconds() - cpu;
    server = process_cpu_seconds(options->pid) - server;
    double events = (double)rounds * run.count;
    figure figures[] = {
        {"streams", run.count, ""},
        {"startedAt", started, "unix s"},
        {"eventsPerSecond", events / seconds, "shown"},
        {"intentsPerSecond", (double)rounds / seconds, "each to all streams"},
        {"lastP50", (double)histogram_quantile(&run.last, 0.5) / 1e6, "ms from the POST to the last stream"},
        {"lastP99", (double)histogram_quantile(&run.last, 0.99) / 1e6, "ms"},
        {"generatorCores", cpu / seconds, ""},
        {"serverCores", server / seconds, ""},
        {"cpuPerEvent", events > 0 ? server * 1e6 / events : 0, "us of the server's"},
        {"rssEmpty", (double)empty_kib, "KiB"},
        {"rssOpen", (double)open_kib, "KiB"},
    };
    bool passed = held && tally_faults(&tally, 0) == 0 && rounds > 0;
    int code = report(options, &tally, figures, sizeof figures / sizeof *figures, passed);
    for (unsigned i = 0; i < run.count; i++) stream_close(&run.listeners[i].stream);
    free(run.listeners);
    fleet_close(&run.fleet);
    return code;
}
