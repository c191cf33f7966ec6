// The sessions of a run, the connections that post for them, and the intents at their pace.
#pragma once

#include "options.h"
#include "poster.h"
#include "session.h"

typedef struct fleet fleet;

/// The answer to one session's request.
typedef void (*fleet_handler)(fleet *fleet, session *session, int status, json body);

struct fleet {
    tally *tally;
    session *sessions;
    /// Intents go to the first `active` of them.
    unsigned session_count, active;
    char intents[96];
    poster *posters;
    unsigned poster_count;
    // Of the request that is going round.
    fleet_handler handler;
    unsigned answered;
    uint64_t open_streams;
};

/// Intents round robin over the sessions: at a rate, or as fast as they are answered.
///
/// At a rate an intent is due at its time whatever became of those before it, and its latency counts from then: a
/// server that stalls shows the whole wait of everyone behind it, not one slow answer.
typedef struct pacer {
    fleet *fleet;
    double rate;
    uint64_t start_ns, end_ns, next;
    /// Posters that wait for work.
    poster **free;
    unsigned free_count;
    /// The longest that an intent which was due waited for a free connection or for this process.
    uint64_t latest_ns;
} pacer;

/// `{"type":"add","amount":1}`.
extern const char intent[];

/// `streams`: how many files the run needs besides the posters'.
void fleet_open(fleet *fleet, const options *options, tally *tally, unsigned sessions, uint64_t streams);

/// Makes every session by POST /sessions; ends the process if one is refused.
void fleet_make_sessions(fleet *fleet);

/// Sends one request for each session over all posters and hands on the answers.
void fleet_each(fleet *fleet, const char *method, const char *path, const char *body, fleet_handler handler);

/// Deletes every session; anything but 204 is a violation.
void fleet_delete_sessions(fleet *fleet);

/// The streams that the server counts as open in the fleet's sessions.
uint64_t fleet_open_streams(fleet *fleet);

void fleet_close(fleet *fleet);

/// Opens each of so many things, `at_once` of them under way at most; ends the process if that takes two minutes.
void open_each(unsigned count, unsigned at_once, void (*open)(unsigned index), bool (*is_open)(unsigned index));

/// Waits until each of so many things is done, one after the other; false if it was not within the time.
bool wait_for_each(unsigned count, bool (*is_done)(unsigned index), double seconds);

/// Intents from now on, for `seconds`.
void pacer_start(pacer *pacer, fleet *fleet, double rate, double seconds);

/// Posts what is due, handles what arrives, and returns at the latest at `until_ns`; false once all is answered.
bool pacer_turn(pacer *pacer, uint64_t until_ns);

void pacer_free(pacer *pacer);

/// All of it; false, and a violation, if intents are not answered 30 s after the end. Returns `latest_ns` by the pointer.
bool pacer_run(fleet *fleet, double rate, double seconds, uint64_t *latest_ns);
