#include "fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fleet_open(fleet *fleet, const options *options, tally *tally, unsigned sessions, uint64_t streams) {
    memset(fleet, 0, sizeof *fleet);
    network_start(options->port, streams + options->connections + 16, streams > 10000 || options->clients);
    fleet->tally = tally;
    fleet->session_count = sessions;
    fleet->sessions = allocate(sessions, sizeof *fleet->sessions);
    snprintf(fleet->intents, sizeof fleet->intents, "/features/%s/intents", options->feature);
    for (unsigned i = 0; i < sessions; i++) {
        fleet->sessions[i] = (session){.index = i, .feature = options->feature, .intents = fleet->intents};
    }
    fleet->active = options->active && options->active < sessions ? options->active : sessions;
    fleet->poster_count = options->connections;
    fleet->posters = allocate(options->connections, sizeof *fleet->posters);
    for (unsigned i = 0; i < fleet->poster_count; i++) poster_open(&fleet->posters[i], tally, fleet);
}

static void take_answer(poster *poster, int status, json body) {
    fleet *self = poster->owner;
    self->answered++;
    self->handler(self, poster->item, status, body);
}

void fleet_each(fleet *fleet, const char *method, const char *path, const char *body, fleet_handler handler) {
    fleet->handler = handler;
    fleet->answered = 0;
    unsigned next = 0;
    uint64_t deadline = after(120);
    while (fleet->answered < fleet->session_count) {
        for (unsigned i = 0; i < fleet->poster_count && next < fleet->session_count; i++) {
            poster *poster = &fleet->posters[i];
            if (poster->busy) continue;
            session *session = &fleet->sessions[next++];
            poster->item = session;
            poster_send(poster, method, path, session->token, body, take_answer);
        }
        if (now_ns() > deadline) fail("%s %s: %u answers in two minutes", method, path, fleet->answered);
        network_turn(deadline);
    }
}

static void take_session(fleet *fleet, session *session, int status, json body) {
    (void)fleet;
    if (status == 0) fail("cannot reach the server: the connection was refused or lost");
    if (status != 201 || !session_take(session, body)) {
        fail("POST /sessions: expected 201 with id and token, got %d: %.*s", status, (int)body.length, body.bytes);
    }
}

void fleet_make_sessions(fleet *fleet) { fleet_each(fleet, "POST", "/sessions", NULL, take_session); }

static void take_deletion(fleet *fleet, session *session, int status, json body) {
    if (status == 204) return;
    tally_violation(
        fleet->tally, "session %u: DELETE /sessions/current: expected 204, got %d: %.*s", session->index, status,
        (int)body.length, body.bytes);
}

void fleet_delete_sessions(fleet *fleet) { fleet_each(fleet, "DELETE", "/sessions/current", NULL, take_deletion); }

static void take_streams(fleet *fleet, session *session, int status, json body) {
    int64_t count;
    if (status == 200 && json_read(body, "streams:i", &count)) {
        fleet->open_streams += (uint64_t)count;
        return;
    }
    tally_violation(
        fleet->tally, "session %u: GET /sessions/current: expected 200 with streams, got %d: %.*s", session->index,
        status, (int)body.length, body.bytes);
}

uint64_t fleet_open_streams(fleet *fleet) {
    fleet->open_streams = 0;
    fleet_each(fleet, "GET", "/sessions/current", NULL, take_streams);
    return fleet->open_streams;
}

void fleet_close(fleet *fleet) {
    for (unsigned i = 0; i < fleet->poster_count; i++) poster_close(&fleet->posters[i]);
    for (unsigned i = 0; i < fleet->session_count; i++) free(fleet->sessions[i].pending);
    free(fleet->posters);
    free(fleet->sessions);
}

void open_each(unsigned count, unsigned at_once, void (*open)(unsigned index), bool (*is_open)(unsigned index)) {
    uint64_t deadline = after(120);
    for (unsigned opened = 0, oldest = 0; oldest < count;) {
        while (opened < count && opened - oldest < at_once) open(opened++);
        while (oldest < opened && is_open(oldest)) oldest++;
        if (now_ns() > deadline) fail("only %u of %u streams were open within two minutes", oldest, count);
        // With nothing under way no event would end the wait.
        if (oldest < opened) network_turn(deadline);
    }
}

bool wait_for_each(unsigned count, bool (*is_done)(unsigned index), double seconds) {
    uint64_t deadline = after(seconds);
    for (unsigned i = 0; i < count;) {
        if (is_done(i)) i++;
        else if (now_ns() > deadline) return false;
        else network_turn(deadline);
    }
    return true;
}

// --- The pacer ---

const char intent[] = "{\"type\":\"add\",\"amount\":1}";

static uint64_t due(const pacer *pacer) {
    return pacer->start_ns + (uint64_t)((double)pacer->next * 1e9 / pacer->rate);
}

static void pump(pacer *pacer);

static void take_accepted(poster *poster, int status, json body) {
    pacer *self = poster->owner;
    session *session = poster->item;
    tally *tally = self->fleet->tally;
    json id;
    int64_t version;
    if (status != 202 || !json_read(body, "intent:s version:i", &id, &version)) {
        tally->http_errors++;
        tally_violation(
            tally, "session %u: expected 202 with intent and version, got %d: %.*s", session->index, status,
            (int)body.length, body.bytes);
    } else {
        tally->accepted++;
        histogram_record(&tally->answer, now_ns() - poster->intended_ns);
        session_answered(session, tally, (uint64_t)version, hash_bytes(id.bytes, id.length), poster->intended_ns);
    }
    self->free[self->free_count++] = poster;
    pump(self);
}

static void pump(pacer *pacer) {
    while (pacer->free_count > 0) {
        uint64_t now = now_ns(), intended = pacer->rate > 0 ? due(pacer) : now;
        if (intended >= pacer->end_ns || intended > now) return;
        if (now - intended > pacer->latest_ns) pacer->latest_ns = now - intended;
        poster *poster = pacer->free[--pacer->free_count];
        session *session = &pacer->fleet->sessions[pacer->next++ % pacer->fleet->active];
        poster->owner = pacer;
        poster->item = session;
        poster->intended_ns = intended;
        pacer->fleet->tally->posted++;
        poster_send(poster, "POST", session->intents, session->token, intent, take_accepted);
    }
}

void pacer_start(pacer *pacer, fleet *fleet, double rate, double seconds) {
    *pacer = (struct pacer){.fleet = fleet, .rate = rate, .start_ns = now_ns(), .end_ns = after(seconds)};
    pacer->free = allocate(fleet->poster_count, sizeof *pacer->free);
    for (unsigned i = 0; i < fleet->poster_count; i++) pacer->free[pacer->free_count++] = &fleet->posters[i];
}

bool pacer_turn(pacer *pacer, uint64_t until_ns) {
    pump(pacer);
    uint64_t now = now_ns(), wake = until_ns;
    bool more = pacer->rate > 0 ? due(pacer) < pacer->end_ns : now < pacer->end_ns;
    if (!more && pacer->free_count == pacer->fleet->poster_count) return false;
    if (more && pacer->rate > 0 && pacer->free_count > 0 && due(pacer) < wake) wake = due(pacer);
    if (pacer->end_ns > now && pacer->end_ns < wake) wake = pacer->end_ns;
    network_turn(wake);
    return true;
}

void pacer_free(pacer *pacer) {
    free(pacer->free);
    for (unsigned i = 0; i < pacer->fleet->poster_count; i++) pacer->fleet->posters[i].owner = pacer->fleet;
}

bool pacer_run(fleet *fleet, double rate, double seconds, uint64_t *latest_ns) {
    pacer pacer;
    pacer_start(&pacer, fleet, rate, seconds);
    uint64_t deadline = pacer.end_ns + 30000000000ull;
    bool stuck = false;
    while (!stuck && pacer_turn(&pacer, deadline)) stuck = now_ns() > deadline;
    if (stuck) {
        tally_violation(fleet->tally, "%u intents were not answered in 30 s", fleet->poster_count - pacer.free_count);
    }
    *latest_ns = pacer.latest_ns;
    pacer_free(&pacer);
    return !stuck;
}
