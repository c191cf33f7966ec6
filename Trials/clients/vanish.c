// Clients that open a stream, read a little and are gone without a word, over and over, while intents flow into the
// sessions that they share. Afterwards the server must count no stream of theirs.
#include <stdlib.h>
#include <sys/socket.h>

#include "../../Benchmarks/loadgen/fleet.h"
#include "../../Benchmarks/loadgen/stream.h"
#include "modes.h"

/// How a client goes.
typedef enum {
    /// RST, with bytes unread.
    reset_while_reading,
    /// FIN, all read so far.
    close_after_state,
    /// RST before the first byte of the answer.
    reset_after_request,
    /// FIN in the middle of the request's head.
    close_inside_request,
    /// Its half of the connection first, the rest at the next event.
    half_close,
    way_count,
} way;

typedef struct {
    stream stream;
    unsigned round, index;
    way way;
    bool half_closed, hello, goaway, state;
    size_t target;
    uint64_t random;
} client;

static tally found;
static fleet all;
static unsigned rounds, active;
static uint64_t vanished[way_count], hellos, superseded;

static void begin(client *self) {
    connection *connection = &self->stream.connection;
    self->way = (way)((self->index + self->round) % way_count);
    self->half_closed = self->hello = self->goaway = self->state = false;
    self->target = 1 + next_random(&self->random) % 600;
    connection->room = self->way == reset_while_reading ? self->target : 4096;
    stream_open(&self->stream, NULL, NULL);
    // Nothing is sent before it is connected.
    if (self->way == close_inside_request) connection->out.length /= 2;
}

static void vanish(client *self, bool abruptly) {
    connection_close(&self->stream.connection, abruptly);
    vanished[self->way]++;
    if (++self->round < rounds) begin(self);
    else active--;
}

static void take_sent(stream *stream) {
    client *self = (client *)stream;
    if (self->way == close_inside_request) vanish(self, false);
    else if (self->way == reset_after_request) vanish(self, true);
}

static void take_event(stream *stream, const sse_event *event) {
    client *self = (client *)stream;
    if (json_equals(event->event, "goaway")) {
        self->goaway = true;
    } else if (!self->hello && json_equals(event->event, "hello")) {
        self->hello = true;
        hellos++;
    } else if (!self->hello) {
        tally_violation(&found, "the first event is '%.*s', not hello", (int)event->event.length, event->event.bytes);
    } else if (json_equals(event->event, "state")) {
        self->state = true;
        found.states++;
    }
}

static void take_end(stream *stream, stream_end end, const char *why) {
    client *self = (client *)stream;
    if (end == stream_refused) found.http_errors++;
    else if (end == stream_broken) tally_violation(&found, "a stream with this: %s", why);
    // The server closed first: it may, to make room for a newer stream of the session, but has to say so.
    else if (self->goaway) superseded++;
    else if (!self->half_closed) found.cut++;
    vanish(self, end == stream_refused);
}

static void take_read(stream *stream) {
    client *self = (client *)stream;
    connection *connection = &stream->connection;
    if (self->way == reset_while_reading) {
        if (connection->received >= self->target) return vanish(self, true);
        connection->room = self->target - connection->received;
    } else if (self->way != half_close) {
        if (self->state) vanish(self, false);
    } else if (self->half_closed) {
        vanish(self, false);
    } else if (self->state) {
        self->half_closed = true;
        shutdown(connection->fd, SHUT_WR);
    }
}

static int run_vanish(const options *options) {
    fleet_open(&all, options, &found, options->sessions, options->clients);
    fleet_make_sessions(&all);
    rounds = options->rounds;
    active = options->clients;
    client *clients = allocate(active, sizeof *clients);
    uint64_t started = now_ns(), deadline = after(30 + rounds * 10.0);
    for (unsigned i = 0; i < options->clients; i++) {
        clients[i] = (client){
            .stream = {
                .session = &all.sessions[i % options->sessions], .tally = &found, .event = take_event,
                .ended = take_end, .sent = take_sent, .read = take_read,
            },
            .index = i, .random = 0x9e3779b97f4a7c15u + i,
        };
        begin(&clients[i]);
    }
    pacer pacer;
    pacer_start(&pacer, &all, options->rate, 3600);
    while (active > 0 && now_ns() < deadline) pacer_turn(&pacer, deadline);
    double seconds = (double)(now_ns() - started) / 1e9;
    // No more intents; those under way are answered yet.
    pacer.end_ns = now_ns();
    while (pacer_turn(&pacer, after(30)) && now_ns() < deadline + 30000000000ull) {}
    pacer_free(&pacer);
    if (active) tally_violation(&found, "%u clients still wait for what they were to read", active);
    for (unsigned i = 0; i < options->clients; i++) {
        connection_close(&clients[i].stream.connection, true);
        stream_close(&clients[i].stream);
    }
    free(clients);

    // Until the server has noticed that all are gone.
    uint64_t last = now_ns(), left;
    while ((left = fleet_open_streams(&all)) > 0 && now_ns() < last + 10000000000ull) network_turn(after(0.02));
    if (left) tally_violation(&found, "%llu streams are open after 10 s without a client", (u64)left);
    double noticed = (double)(now_ns() - last) / 1e9;
    fleet_delete_sessions(&all);

    note("clients", options->clients, "at a time");
    note("vanished", (double)options->clients * rounds - active, "times");
    note("vanishedByReset", (double)(vanished[reset_while_reading] + vanished[reset_after_request]), "times");
    note("vanishedInsideRequest", (double)vanished[close_inside_request], "times");
    note("hellos", (double)hellos, "");
    note("superseded", (double)superseded, "streams, with a goaway");
    note("seconds", seconds, "s");
    note("noticedWithin", noticed, "s after the last one");
    note("streamsLeft", (double)left, "");
    bool passed = found.http_errors + found.cut + found.violations == 0 && left == 0 && hellos > 0;
    int code = report("vanish", &found, options->json, passed);
    fleet_close(&all);
    return code;
}

const mode vanish_mode = {
    "vanish", "clients that open a stream, read a little and vanish, over and over, while intents flow",
    {.connections = 8, .rate = 500, .clients = 1000, .rounds = 10, .sessions = 250, .feature = "counter"}, run_vanish,
};
