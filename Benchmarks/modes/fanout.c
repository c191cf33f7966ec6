// One session with many streams, or many sessions that share a store: how fast does one intent reach all streams? The next one is sent when each stream has
// shown the one before, so that a server that writes the newest state only has nothing to leave out.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../loadgen/fleet.h"
#include "../loadgen/stream.h"
#include "modes.h"

typedef struct {
    stream stream;
    bool started;
    int64_t version;
} listener;

static tally found;
static fleet all;
static listener *listeners;
static unsigned count, shown;
static bool nchan, answered;
static uint64_t posted_ns;
static histogram last;

static void take_event(stream *stream, const sse_event *event) {
    listener *self = (listener *)stream;
    int64_t version;
    if (!json_equals(event->event, "state")) return;
    if (!json_read(event->data, "version:i", &version)) {
        tally_violation(&found, "a state without a version: %.*s", (int)event->data.length, event->data.bytes);
        return;
    }
    found.states++;
    if (!self->started) {
        self->started = true;
    } else if (version <= self->version) {
        found.duplicated++;
        return;
    } else {
        found.skipped += (uint64_t)(version - self->version - 1);
        histogram_record(&found.event, stream->connection.read_ns - posted_ns);
        found.matched++;
        shown++;
    }
    self->version = version;
}

static void take_answer(poster *poster, int status, json body) {
    (void)poster;
    answered = true;
    if (status / 100 != 2) {
        found.http_errors++;
        tally_violation(&found, "an intent got %d: %.*s", status, (int)body.length, body.bytes);
        return;
    }
    found.accepted++;
    histogram_record(&found.answer, now_ns() - posted_ns);
}

// One intent to all; false if not all had shown it in ten seconds.
static bool round_trip(void) {
    const session *session = &all.sessions[0];
    char message[160];
    // As long as what the others' streams show.
    snprintf(
        message, sizeof message,
        "{\"feature\":\"counter\",\"version\":%llu,\"intent\":\"abcdefghijklm\",\"state\":{\"count\":%llu,\"isLoading\":false}}",
        (u64)found.posted + 2, (u64)found.posted + 1);
    answered = false;
    shown = 0;
    found.posted++;
    posted_ns = now_ns();
    poster_send(&all.posters[0], "POST", session->intents, session->token, nchan ? message : intent, take_answer);
    for (uint64_t deadline = after(10); !answered || shown < count; network_turn(deadline)) {
        if (now_ns() < deadline) continue;
        tally_violation(&found, "%u of %u streams had shown an intent after 10 s", shown, count);
        return false;
    }
    histogram_record(&last, now_ns() - posted_ns);
    return true;
}

static void open_listener(unsigned index) {
    listeners[index] = (listener){
        .stream = {.session = &all.sessions[index % all.session_count], .tally = &found, .event = take_event, .may_be_unframed = nchan},
        .started = nchan, .version = 1,
    };
    stream_open(&listeners[index].stream, nchan ? "/subscribe/1" : NULL, nchan ? "Accept: text/event-stream\r\n" : NULL);
}

static bool is_open(unsigned index) {
    const listener *listener = &listeners[index];
    return listener->stream.finished
        || (nchan ? listener->stream.connection.response.state > http_header : listener->started);
}

static int run_fanout(const options *options) {
    count = options->streams;
    nchan = options->nchan;
    fleet_open(&all, options, &found, options->sessions ? options->sessions : 1, count);
    listeners = allocate(count, sizeof *listeners);
    note("streams", count, "");
    note("rssEmpty", (double)server_kib(options->pid, false), "KiB");
    if (nchan) {
        all.sessions[0].intents = "/publish/1";
        all.posters[0].fields = "X-EventSource-Event: state\r\n";
    } else {
        fleet_make_sessions(&all);
    }
    open_each(count, 256, open_listener, is_open);
    note("rssOpen", (double)server_kib(options->pid, true), "KiB");
    bool held = true;
    for (uint64_t until = after(options->warmup); held && now_ns() < until;) held = round_trip();
    tally_forget_latencies(&found);
    memset(&last, 0, sizeof last);
    usage before = usage_now(options->pid);
    double rounds = 0;
    for (uint64_t until = after(options->seconds); held && now_ns() < until; rounds++) held = round_trip();
    usage used = usage_since(before, options->pid);
    note("eventsPerSecond", rounds * count / used.at, "shown");
    note("intentsPerSecond", rounds / used.at, "each to all streams");
    note("lastP50", (double)histogram_quantile(&last, 0.5) / 1e6, "ms from the POST to the last stream");
    note("lastP99", (double)histogram_quantile(&last, 0.99) / 1e6, "ms");
    note_usage(used, "cpuPerEvent", rounds * count);
    int code = report("fanout", &found, options->json, held && tally_faults(&found, false) == 0 && rounds > 0);
    for (unsigned i = 0; i < count; i++) stream_close(&listeners[i].stream);
    free(listeners);
    fleet_close(&all);
    return code;
}

const mode fanout_mode = {
    "fanout", "one session with many streams, or so many sessions of a shared store: an intent once all of them have shown the one before",
    {.streams = 10000, .connections = 1, .seconds = 10, .warmup = 1, .feature = "counter"}, run_fanout,
};
