#include "fleet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "request.h"

void fleet_open(fleet *fleet, const options *options, tally *tally, unsigned sessions, uint64_t streams) {
    memset(fleet, 0, sizeof *fleet);
    require_files(streams + options->connections + 16);
    network_open(&fleet->network, options->host, options->port);
    // One address has 28,000 ports of its own by default, and a closed connection keeps its port for a minute.
    if (streams > 10000 || options->mode == mode_vanish) fleet->network.source_addresses = 8;
    request_set_host(options->host, options->port);
    fleet->tally = tally;
    fleet->session_count = sessions;
    fleet->sessions = allocate(sessions, sizeof *fleet->sessions);
    snprintf(fleet->intents, sizeof fleet->intents, "/features/%s/intents", options->feature);
    for (unsigned i = 0; i < sessions; i++) {
        fleet->sessions[i].index = i;
        fleet->sessions[i].feature = options->feature;
        fleet->sessions[i].intents = fleet->intents;
    }
    fleet->active = options->active && options->active < sessions ? options->active : sessions;
    fleet->poster_count = options->connections;
    fleet->posters = allocate(options->connections, sizeof *fleet->posters);
    for (unsigned i = 0; i < fleet->poster_count; i++) poster_open(&fleet->posters[i], &fleet->network, tally, fleet);
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
    uint64_t deadline = now_ns() + 120u * 1000000000ull;
    while (fleet->answered < fleet->session_count) {
        for (unsigned i = 0; i < fleet->poster_count && next < fleet->session_count; i++) {
            poster *poster = &fleet->posters[i];
            if (poster->busy) continue;
            session *session = &fleet->sessions[next++];
            poster->item = session;
            poster_send(poster, method, path, session->token[0] ? session->token : NULL, body, take_answer);
        }
        if (now_ns() > deadline) fail("%s %s: %u answers in two minutes", method, path, fleet->answered);
        network_turn(&fleet->network, deadline);
    }
}

static void take_session(fleet *fleet, session *session, int status, json body) {
    (void)fleet;
    if (status == 0) fail("cannot reach the server: the connection was refused or lost");
    if (status != 201 || !session_take(session, body)) {
        fail("POST /sessions: expected 201 with id and token, got %d: %.*s", status, (int)body.length, body.bytes);
    }
}

void fleet_make_sessions(fleet *fleet) {
    fleet_each(fleet, "POST", "/sessions", NULL, take_session);
}

void fleet_keep_sessions(const fleet *fleet, const char *path) {
    FILE *file = fopen(path, "w");
    if (!file) fail("cannot write %s: %s", path, strerror(errno));
    for (unsigned i = 0; i < fleet->session_count; i++) {
        fprintf(file, "%s %s\n", fleet->sessions[i].id, fleet->sessions[i].token);
    }
    if (fclose(file) != 0) fail("cannot write %s: %s", path, strerror(errno));
}

void fleet_take_sessions(fleet *fleet, const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) fail("cannot read %s: %s", path, strerror(errno));
    for (unsigned i = 0; i < fleet->session_count; i++) {
        if (fscanf(file, "%95s %95s", fleet->sessions[i].id, fleet->sessions[i].token) != 2) {
            fail("%s has %u sessions, and %u are asked for", path, i, fleet->session_count);
        }
    }
    fclose(file);
}

static void take_deletion(fleet *fleet, session *session, int status, json body) {
    if (status == 204) return;
    tally_violation(
        fleet->tally, "session %u: DELETE /sessions/current: expected 204, got %d: %.*s", session->index, status,
        (int)body.length, body.bytes);
}

void fleet_delete_sessions(fleet *fleet) {
    fleet_each(fleet, "DELETE", "/sessions/current", NULL, take_deletion);
}

static uint64_t open_streams;

static void take_streams(fleet *fleet, session *session, int status, json body) {
    static const char *const names[] = {"streams"};
    json value;
    int64_t count;
    if (status != 200 || !json_members(body, names, &value, 1)
        || (!json_integer(value, &count) && (count = json_array_count(value)) < 0)) {
        tally_violation(
            fleet->tally, "session %u: GET /sessions/current: expected 200 with streams, got %d: %.*s",
            session->index, status, (int)body.length, body.bytes);
        return;
    }
    open_streams += (uint64_t)count;
}

uint64_t fleet_open_streams(fleet *fleet) {
    open_streams = 0;
    fleet_each(fleet, "GET", "/sessions/current", NULL, take_streams);
    return open_streams;
}

void fleet_close(fleet *fleet) {
    for (unsigned i = 0; i < fleet->poster_count; i++) poster_close(&fleet->posters[i]);
    for (unsigned i = 0; i < fleet->session_count; i++) free(fleet->sessions[i].pending);
    free(fleet->posters);
    free(fleet->sessions);
}
