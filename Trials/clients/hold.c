// Requests and streams that keep a server from ending, held until SIGTERM, with intents beside them.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../Benchmarks/loadgen/fleet.h"
#include "modes.h"

typedef struct {
    connection connection;
    bool reads_no_more, held;
} holder;

static tally found;
static fleet all;
static unsigned held;
static volatile sig_atomic_t asked_to_stop;

static void stop(int number) {
    (void)number;
    asked_to_stop = 1;
}

static void hold(holder *self) {
    if (!self->held) held++;
    self->held = true;
}

static void take_sent(connection *connection) {
    holder *self = (holder *)connection;
    if (!self->reads_no_more) hold(self);
}

static void take_body(void *context, const char *bytes, size_t length) {
    (void)context;
    (void)bytes;
    (void)length;
}

static void take_read(connection *connection, size_t unread) {
    holder *self = (holder *)connection;
    (void)unread;
    if (!self->reads_no_more) return;
    connection_pause(connection, true);
    hold(self);
}

static void take_end(connection *connection, const char *why, bool broken) {
    (void)why;
    (void)broken;
    connection_close(connection, false);
}

static bool is(const char *part, const char *name) { return strcmp(part, name) == 0; }

static void prepare(holder *self, const char *part, const session *session, bool other) {
    connection *connection = &self->connection;
    buffer *out = &connection->out;
    const char *wait = "Prefer: wait=10\r\n";
    if (is(part, "blocked")) {
        connection_ask(connection, "POST", session->intents, session->token, NULL, "{\"type\":\"block\"}");
    } else if (is(part, "bodies")) {
        // A body by its length, or in chunks, that stops in the middle.
        connection_ask(connection, "POST", session->intents, session->token, NULL, NULL);
        out->length -= 2;
        buffer_print(
            out, "Content-Type: application/json\r\n%s\r\n%s{\"type\":",
            other ? "Transfer-Encoding: chunked\r\n" : "Content-Length: 1000\r\n", other ? "100\r\n" : "");
    } else if (is(part, "waits")) {
        // Work that goes on, or a state that does not change.
        if (other) {
            connection_ask(
                connection, "POST", "/features/order-detail:42/intents", session->token, wait,
                "{\"type\":\"refreshAllData\"}");
        } else {
            connection_ask(
                connection, "GET", "/features/order-detail:43/state", session->token,
                "If-None-Match: *\r\nPrefer: wait=10\r\n", NULL);
        }
    } else if (is(part, "streams")) {
        self->reads_no_more = connection->narrow = true;
        connection->room = 256;
        connection_ask(connection, "GET", "/features/counter/events", session->token, NULL, NULL);
    } else if (is(part, "demo")) {
        connection_ask(
            connection, "POST", "/features/counter/intents", session->token, other ? wait : NULL, "{\"type\":\"load\"}");
    } else {
        fail("nothing called '%s' can be held", part);
    }
}

static int run_hold(const options *options) {
    static const connection_kind kind = {take_sent, take_body, take_read, take_end};
    unsigned count = options->parts ? options->clients : 0;
    signal(SIGTERM, stop);
    fleet_open(&all, options, &found, options->sessions, count);
    fleet_make_sessions(&all);
    holder *holders = allocate(count, sizeof *holders);
    for (unsigned i = 0; i < count; i++) {
        holders[i].connection.kind = &kind;
        prepare(&holders[i], options->parts, &all.sessions[i % options->sessions], i / options->sessions % 2);
        if (!connection_send(&holders[i].connection)) fail("cannot connect");
    }
    pacer pacer;
    pacer_start(&pacer, &all, options->rate, options->seconds);
    uint64_t deadline = after(20), said = 0;
    while (!asked_to_stop) {
        pacer_turn(&pacer, after(0.02));
        if (said) continue;
        if (held == count) said = (uint64_t)fprintf(stderr, "loadgen: %u are held\n", held);
        else if (now_ns() > deadline) fail("only %u of %u could be held within 20 s", held, count);
    }
    return 0;
}

const mode hold_mode = {
    "hold", "requests that do not end and streams that are not read, with intents beside them, until SIGTERM",
    {.connections = 8, .clients = 40, .sessions = 20, .rate = 500, .seconds = 3600, .feature = "counter"}, run_hold,
};
