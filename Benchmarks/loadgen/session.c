#include "session.h"

#include <stdio.h>

static unsigned window = 16;

void sessions_set_window(unsigned wanted) {
    while (window < wanted) window *= 2;
}

bool session_take(session *session, json answer) {
    json id, token;
    if (!json_read(answer, "id:s token:s", &id, &token) || !id.length || id.length >= sizeof session->id
        || !token.length || token.length >= sizeof session->token) return false;
    snprintf(session->id, sizeof session->id, "%.*s", (int)id.length, id.bytes);
    snprintf(session->token, sizeof session->token, "%.*s", (int)token.length, token.bytes);
    return true;
}

static pending_intent *slot(session *session, uint64_t version) {
    if (!session->pending) session->pending = allocate(window, sizeof *session->pending);
    pending_intent *slot = &session->pending[version & (window - 1)];
    // What stood here never met its other half; that the event is missing is found by the stream's versions.
    if (slot->version != version) *slot = (pending_intent){.version = version};
    return slot;
}

static void meet(pending_intent *slot, tally *tally) {
    if (!slot->answered || !slot->shown) return;
    tally->matched++;
    histogram_record(&tally->event, slot->shown_ns > slot->intended_ns ? slot->shown_ns - slot->intended_ns : 0);
}

void session_answered(session *session, tally *tally, uint64_t version, uint64_t intent, uint64_t intended_ns) {
    if (version > session->answered_version) session->answered_version = version;
    pending_intent *pending = slot(session, version);
    if (pending->answered || (pending->shown && pending->intent != intent)) {
        tally->mismatched++;
        return;
    }
    pending->answered = true;
    pending->intent = intent;
    pending->intended_ns = intended_ns;
    meet(pending, tally);
}

void session_shown(session *session, tally *tally, uint64_t version, uint64_t intent, uint64_t shown_ns) {
    pending_intent *pending = slot(session, version);
    if (pending->shown) return;  // by the session's other stream, which was first
    if (pending->answered && pending->intent != intent) {
        tally->mismatched++;
        return;
    }
    pending->shown = true;
    pending->intent = intent;
    pending->shown_ns = shown_ns;
    meet(pending, tally);
}
