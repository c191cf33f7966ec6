// A session as the generator knows it, and the bringing together of an intent's answer with its event.
#pragma once

#include "json.h"
#include "tally.h"

/// An intent of which the answer, the event or both have arrived.
typedef struct {
    uint64_t version, intent, intended_ns, shown_ns;
    bool answered, shown;
} pending_intent;

typedef struct {
    char token[96], id[96];
    /// Its feature, and where that one's intents go.
    const char *feature, *intents;
    pending_intent *pending;
    /// The highest version that an answer has named.
    uint64_t answered_version;
    unsigned index;
} session;

/// Intents that one session can have under way at once; a power of two.
void sessions_set_window(unsigned window);

/// Takes `id` and `token` from the answer of POST /sessions; false if they are not there.
bool session_take(session *session, json answer);

/// The POST's answer named this version and intent id.
void session_answered(session *session, tally *tally, uint64_t version, uint64_t intent, uint64_t intended_ns);

/// The session's stream showed it.
void session_shown(session *session, tally *tally, uint64_t version, uint64_t intent, uint64_t shown_ns);
