// Holds one stream of the counter feature against the contract: hello first, every version once and in order, every
// milestone once and in order, ids that only grow. The generator adds 1 with each intent, so what must come is known.
#pragma once

#include "session.h"
#include "sse.h"

/// Numbers that should come one after the other.
typedef struct {
    uint64_t last;
    /// Bit d: last - d was seen.
    uint64_t seen;
} sequence;

typedef struct {
    bool hello, started, after_reset, labels_lost;
    char epoch[32];
    uint64_t last_id;
    sequence versions, milestones;
    uint64_t first_version;
    int64_t first_count;
    /// Of the newest state: its intent's hash.
    uint64_t intent;
    uint64_t label_sequence, label_number;
    /// States that this stream skipped.
    uint64_t skipped;
} checker;

/// One event of the session's stream. `measured`: this stream is the one that latencies are taken from.
void check_event(
    checker *checker, session *session, tally *tally, const sse_event *event, bool measured, uint64_t now_ns);

/// Everything that the session's answers promise was shown.
bool check_complete(const checker *checker, const session *session);

/// Counts what never came.
void check_finish(checker *checker, const session *session, tally *tally);
