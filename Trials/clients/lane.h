// One client that does one thing after the other: it asks, repeats until it is answered, thinks, and asks the next.
#pragma once

#include "call.h"
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
    call call;
    lane_kind kind;
    subject *subject;
    uint64_t random, number, version;
    unsigned index, step;
    uint32_t amount;
    bool tap, confirming, idle, reading;
    /// Set by the run: how long it thinks on average; that the intent under way is the last.
    uint64_t think_ns;
    const bool *stopping;
    /// lane_short: its own session.
    session own;
};

void lane_open(
    lane *lane, network *network, subject *subject, survival *found, lane_kind kind, unsigned index, uint64_t seed);

/// Asks the first.
void lane_begin(lane *lane);

/// After the last: reads the states of the subject for its end. The lane must be idle.
void lane_read_states(lane *lane);
