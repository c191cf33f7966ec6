// One client that does one thing after the other: it asks, repeats until it is answered, thinks, and asks the next.
#pragma once

#include "../../Benchmarks/loadgen/poster.h"
#include "subject.h"

typedef enum {
    /// Adds to the counter, or taps in the lesson, with an Idempotency-Key of its own each.
    lane_keys,
    /// The same with the session's Intent-Seq, a number that its other lanes count on too.
    lane_sequence,
    /// Starts work in the order that is still running when the server goes.
    lane_work,
    /// Makes a session, counts in it, deletes it.
    lane_short,
} lane_kind;

typedef struct lane lane;

struct lane {
    poster poster;
    lane_kind kind;
    subject *subject;
    survival *found;
    uint64_t random, number, version;
    /// When it asks (again); until when there must be an answer.
    uint64_t wake_ns, deadline_ns;
    poster_handler handler;
    unsigned index, step;
    uint32_t amount;
    /// Where it goes round several sessions, which are no other lane's: its part of them.
    subject *part;
    unsigned part_count, part_at;
    bool tap, confirming, idle, reading;
    /// Set by the run: how long it thinks on average; that the intent under way is the last.
    uint64_t think_ns;
    const bool *stopping;
    /// Cuts the connection once, right after the request: the client does not learn what became of it.
    bool drop;
    /// lane_short: its own session.
    session own;
};

void lane_open(lane *lane, subject *subject, survival *found, lane_kind kind, unsigned index, uint64_t seed);

/// Does what is due by now; returns when it must be called again at the latest.
uint64_t lane_tick(lane *lane, uint64_t now);

/// Asks the first.
void lane_begin(lane *lane);

/// After the last: reads the states of the subject for its end. The lane must be idle.
void lane_read_states(lane *lane);
