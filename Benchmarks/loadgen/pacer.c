#include "pacer.h"

#include <stdlib.h>
#include <string.h>

#include "common.h"

static const char intent[] = "{\"type\":\"add\",\"amount\":1}";

static uint64_t due(const pacer *pacer, uint64_t index) {
    return pacer->start_ns + (uint64_t)((double)index * 1e9 / pacer->rate);
}

static void pump(pacer *pacer);

static void take_answer(poster *poster, int status, json body) {
    static const char *const names[] = {"intent", "session", "feature", "version"};
    pacer *self = poster->owner;
    session *session = poster->item;
    tally *tally = self->fleet->tally;
    json values[4], id;
    int64_t version;
    tally->statuses[status % 600]++;
    if (status != 202) {
        tally->http_errors++;
        tally_violation(
            tally, "session %u: an intent got %d instead of 202: %.*s", session->index, status, (int)body.length,
            body.bytes);
    } else if (!json_members(body, names, values, 4) || !json_plain_string(values[0], &id)
               || !json_integer(values[3], &version)) {
        tally_violation(
            tally, "session %u: a 202 without intent and version: %.*s", session->index, (int)body.length, body.bytes);
    } else {
        tally->accepted++;
        histogram_record(&tally->answer, now_ns() - poster->intended_ns);
        session_answered(
            session, tally, (uint64_t)version, hash_bytes(id.bytes, id.length), poster->intended_ns);
    }
    self->free[self->free_count++] = poster;
    pump(self);
}

static void pump(pacer *pacer) {
    while (pacer->free_count > 0) {
        uint64_t now = now_ns();
        uint64_t intended = pacer->rate > 0 ? due(pacer, pacer->next) : now;
        if (intended >= pacer->end_ns || intended > now) return;
        if (now - intended > pacer->latest_ns) pacer->latest_ns = now - intended;
        poster *poster = pacer->free[--pacer->free_count];
        session *session = &pacer->fleet->sessions[pacer->next++ % pacer->fleet->active];
        poster->owner = pacer;
        poster->item = session;
        poster->intended_ns = intended;
        pacer->fleet->tally->posted++;
        poster_send(poster, "POST", session->intents, session->token, intent, take_answer);
    }
}

void pacer_start(pacer *pacer, fleet *fleet, double rate, double seconds) {
    memset(pacer, 0, sizeof *pacer);
    pacer->fleet = fleet;
    pacer->rate = rate;
    pacer->start_ns = now_ns();
    pacer->end_ns = pacer->start_ns + (uint64_t)(seconds * 1e9);
    pacer->free = allocate(fleet->poster_count, sizeof *pacer->free);
    for (unsigned i = 0; i < fleet->poster_count; i++) pacer->free[pacer->free_count++] = &fleet->posters[i];
}

bool pacer_turn(pacer *pacer, uint64_t until_ns) {
    pump(pacer);
    uint64_t now = now_ns(), wake = until_ns;
    bool more = pacer->rate > 0 ? due(pacer, pacer->next) < pacer->end_ns : now < pacer->end_ns;
    if (!more && pacer->free_count == pacer->fleet->poster_count) return false;
    if (more && pacer->rate > 0 && pacer->free_count > 0 && due(pacer, pacer->next) < wake) {
        wake = due(pacer, pacer->next);
    }
    if (pacer->end_ns > now && pacer->end_ns < wake) wake = pacer->end_ns;
    network_turn(&pacer->fleet->network, wake);
    return true;
}

void pacer_stop(pacer *pacer) {
    pacer->end_ns = now_ns();
}

void pacer_free(pacer *pacer) {
    free(pacer->free);
    for (unsigned i = 0; i < pacer->fleet->poster_count; i++) pacer->fleet->posters[i].owner = pacer->fleet;
}
