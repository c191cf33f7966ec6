#include "session.h"

#include <string.h>

#include "common.h"

static unsigned window = 16;

void sessions_set_window(unsigned wanted) {
    while (window < wanted) window *= 2;
}

static bool copy(char *to, size_t room, json from) {
    json text;
    if (!json_plain_string(from, &text) || text.length == 0 || text.length >= room) return false;
    memcpy(to, text.bytes, text.length);
    to[text.length] = 0;
    return true;
}

bool session_take(session *session, json answer) {
    static const char *const names[] = {"id", "token"};
    json values[2];
    return json_members(answer, names, values, 2) && copy(session->id, sizeof session->id, values[0])
        && copy(session->token, sizeof session->token, values[1]);
}

static pending_intent *slot(session *session, uint64_t version) {
    if (!session->pending) session->pending = allocate(window, sizeof *session->pending);
    pending_intent *slot = &session->pending[version & (window - 1)];
    // What stood here never met its other half; that the event is missing is found by the stream's versions.
    if (slot->version != version) *slot = (pending_intent){.version = version};
    return slot;
}

static void meet(pending_intent *slot, tally *tally) {
    tally->matched++;
    uint64_t latency = slot->shown_ns > slot->intended_ns ? slot->shown_ns - slot->intended_ns : 0;
    histogram_record(&tally->event, latency);
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
    if (pending->shown) meet(pending, tally);
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
    if (pending->answered) meet(pending, tally);
}
