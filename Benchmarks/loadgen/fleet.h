// The sessions of a run and the connections that post for them.
#pragma once

#include "options.h"
#include "poster.h"
#include "session.h"

typedef struct fleet fleet;

/// The answer to one session's request.
typedef void (*fleet_handler)(fleet *fleet, session *session, int status, json body);

struct fleet {
    network network;
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
};

/// Connects the posters. `streams`: how many files the run needs besides.
void fleet_open(fleet *fleet, const options *options, tally *tally, unsigned sessions, uint64_t streams);

/// Makes every session by POST /sessions; ends the process if one is refused.
void fleet_make_sessions(fleet *fleet);

/// Writes every session as a line, its id and its token; and takes them from there, instead of making any.
void fleet_keep_sessions(const fleet *fleet, const char *path);
void fleet_take_sessions(fleet *fleet, const char *path);

/// Sends one request for each session over all posters and hands on the answers.
void fleet_each(fleet *fleet, const char *method, const char *path, const char *body, fleet_handler handler);

/// Deletes every session; anything but 204 is a violation.
void fleet_delete_sessions(fleet *fleet);

/// The streams that the server counts as open in the fleet's sessions.
uint64_t fleet_open_streams(fleet *fleet);

void fleet_close(fleet *fleet);
