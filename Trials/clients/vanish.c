// Clients that open a stream, read a little and are gone without a word, over and over, while intents flow into the
// sessions that they share. Afterwards the server must count no stream of theirs.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "common.h"
#include "http.h"
#include "modes.h"
#include "pacer.h"
#include "report.h"
#include "request.h"
#include "sse.h"

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
    fleet *fleet;
    unsigned rounds, active;
    uint64_t vanished[way_count], hellos, superseded;
} crowd;

typedef struct {
    source source;
    crowd *crowd;
    session *session;
    unsigned round, index;
    way way;
    bool requested, half_closed, hello, goaway, state;
    size_t target, received;
    uint64_t random;
    http_response response;
    sse_parser parser;
} client;

static void ready(source *source, uint32_t events);

static void begin(client *self) {
    self->way = (way)((self->index + self->round) % way_count);
    self->requested = self->half_closed = self->hello = self->goaway = self->state = false;
    self->target = 1 + next_random(&self->random) % 600;
    self->received = 0;
    http_reset(&self->response);
    buffer_free(&self->parser.pending);
    self->parser = (sse_parser){0};
    self->source.ready = ready;
    self->source.fd = network_connect(&self->crowd->fleet->network, ordinary_socket);
    if (self->source.fd < 0) fail("cannot connect: %s", strerror(errno));
    network_watch(&self->crowd->fleet->network, &self->source, EPOLLIN | EPOLLOUT);
}

static void vanish(client *self, bool abruptly) {
    network_close(&self->source, abruptly);
    self->crowd->vanished[self->way]++;
    if (++self->round < self->crowd->rounds) begin(self);
    else self->crowd->active--;
}

static void take_event(void *context, const sse_event *event) {
    client *self = context;
    tally *tally = self->crowd->fleet->tally;
    if (json_equals(event->event, "goaway")) {
        self->goaway = true;
    } else if (!self->hello && json_equals(event->event, "hello")) {
        self->hello = true;
        self->crowd->hellos++;
    } else if (!self->hello) {
        tally_violation(tally, "the first event is '%.*s', not hello", (int)event->event.length, event->event.bytes);
    } else if (json_equals(event->event, "state")) {
        self->state = true;
        tally->states++;
    }
}

static void take_body(void *context, const char *bytes, size_t length) {
    client *self = context;
    sse_feed(&self->parser, bytes, length, take_event, self);
}

static void request(client *self) {
    buffer out = {0};
    request_append(&out, "GET", "/features/counter/events", self->session->token, NULL);
    size_t length = self->way == close_inside_request ? out.length / 2 : out.length;
    ssize_t sent = send(self->source.fd, out.bytes, length, MSG_NOSIGNAL);
    buffer_free(&out);
    if (sent != (ssize_t)length) tally_violation(self->crowd->fleet->tally, "a request could not be sent");
    self->requested = true;
    if (self->way == close_inside_request) return vanish(self, false);
    if (self->way == reset_after_request) return vanish(self, true);
    network_change(&self->crowd->fleet->network, &self->source, EPOLLIN);
}

// The server closed first: it may, to make room for a newer stream of the session, but has to say so.
static void take_end(client *self) {
    if (self->goaway) {
        self->crowd->superseded++;
    } else if (!self->half_closed) {
        self->crowd->fleet->tally->cut++;
    }
    vanish(self, false);
}

static void ready(source *source, uint32_t events) {
    client *self = (client *)source;
    tally *tally = self->crowd->fleet->tally;
    if (!self->requested && (events & EPOLLOUT) && !(events & (EPOLLERR | EPOLLHUP))) return request(self);
    char bytes[4096];
    size_t room = self->way == reset_while_reading ? self->target - self->received : sizeof bytes;
    ssize_t count = recv(source->fd, bytes, room, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return take_end(self);
    self->received += (size_t)count;
    http_feed(&self->response, bytes, (size_t)count, take_body, self);
    if (self->parser.error) tally_violation(tally, "a stream with %s", self->parser.error);
    if (self->response.state == http_bad) tally_violation(tally, "an answer with %s", self->response.error);
    if (self->response.state > http_header && self->response.status != 200) {
        tally->statuses[self->response.status % 600]++;
        tally->http_errors++;
        return vanish(self, true);
    }
    if (self->response.state == http_done) return take_end(self);
    switch (self->way) {
    case reset_while_reading:
        if (self->received >= self->target) vanish(self, true);
        break;
    case half_close:
        if (self->half_closed) {
            vanish(self, false);
        } else if (self->state) {
            self->half_closed = true;
            shutdown(source->fd, SHUT_WR);
        }
        break;
    default:
        if (self->state) vanish(self, false);
    }
}

// Until the server has noticed that all are gone; returns the seconds that took, or -1.
static double wait_for_streams_to_end(fleet *fleet, double seconds, uint64_t *left) {
    uint64_t start = now_ns(), deadline = start + (uint64_t)(seconds * 1e9);
    do {
        *left = fleet_open_streams(fleet);
        if (*left == 0) return (double)(now_ns() - start) / 1e9;
        network_turn(&fleet->network, now_ns() + 20000000u);
    } while (now_ns() < deadline);
    return -1;
}

int run_vanish(const options *options) {
    static tally tally;
    fleet fleet;
    fleet_open(&fleet, options, &tally, options->sessions, options->clients);
    fleet_make_sessions(&fleet);

    crowd crowd = {.fleet = &fleet, .rounds = options->rounds, .active = options->clients};
    client *clients = allocate(options->clients, sizeof *clients);
    uint64_t started = now_ns(), deadline = started + (30 + options->rounds * 10ull) * 1000000000ull;
    for (unsigned i = 0; i < options->clients; i++) {
        clients[i].crowd = &crowd;
        clients[i].index = i;
        clients[i].random = 0x9e3779b97f4a7c15u + i;
        clients[i].session = &fleet.sessions[i % options->sessions];
        begin(&clients[i]);
    }

    pacer pacer;
    pacer_start(&pacer, &fleet, options->rate > 0 ? options->rate : 1, 3600);
    while (crowd.active > 0 && now_ns() < deadline) pacer_turn(&pacer, deadline);
    double seconds = (double)(now_ns() - started) / 1e9;
    pacer_stop(&pacer);
    while (pacer_turn(&pacer, now_ns() + 30000000000ull) && now_ns() < deadline + 30000000000ull) {}
    pacer_free(&pacer);
    if (crowd.active) {
        tally_violation(&tally, "%u clients still wait for what they were to read", crowd.active);
        for (unsigned i = 0; i < options->clients; i++) network_close(&clients[i].source, true);
    }

    uint64_t left = 0;
    double noticed = wait_for_streams_to_end(&fleet, 10, &left);
    if (noticed < 0) tally_violation(&tally, "%llu streams are open after 10 s without a client", (unsigned long long)left);
    fleet_delete_sessions(&fleet);

    uint64_t vanished = 0;
    for (int i = 0; i < way_count; i++) vanished += crowd.vanished[i];
    figure figures[] = {
        {"clients", options->clients, "at a time"},
        {"vanished", (double)vanished, "times"},
        {"vanishedByReset", (double)(crowd.vanished[reset_while_reading] + crowd.vanished[reset_after_request]), "times"},
        {"vanishedInsideRequest", (double)crowd.vanished[close_inside_request], "times"},
        {"hellos", (double)crowd.hellos, ""},
        {"superseded", (double)crowd.superseded, "streams, with a goaway"},
        {"seconds", seconds, "s"},
        {"noticedWithin", noticed, "s after the last one"},
        {"streamsLeft", (double)left, ""},
    };
    bool passed = tally.http_errors + tally.cut + tally.violations == 0 && left == 0 && crowd.hellos > 0;
    int code = report(options, &tally, figures, sizeof figures / sizeof *figures, passed);
    for (unsigned i = 0; i < options->clients; i++) buffer_free(&clients[i].parser.pending);
    free(clients);
    fleet_close(&fleet);
    return code;
}
