// How streams come back after their server ended, as an EventSource does: after the time that `retry:` said. The trial
// says by signals when it ends the server and when the new one listens.
#pragma once

#include "../../Benchmarks/loadgen/tally.h"

enum { comeback_slots = 600 };

typedef struct comeback {
    unsigned streams;
    /// The restart that is under way or was the last; 0 before the first.
    unsigned round;
    uint64_t went_ns, listens_ns;
    /// Streams of this round that are there again; of those, in each tenth of a second since the server listened.
    unsigned back;
    unsigned returns[comeback_slots];
    /// Ends of this round: with and without a word of the server's.
    uint64_t told, cut;
    /// Connections that were refused, lost, or ended by a proxy with no event, while no server listened and after that.
    uint64_t unreachable, unreachable_late;
    /// Answers to streams that were no stream: an EventSource does not come back after one.
    uint64_t refused;
    /// Answers 502, 503 and 504 to intents, while no server listened and after that.
    uint64_t intents_refused, intents_refused_late;
} comeback;

/// Has SIGUSR1 (the server goes) and SIGUSR2 (it listens again) heeded.
void comeback_open(comeback *comeback, unsigned streams);

/// Takes in what the signals said since the last time.
void comeback_tick(comeback *comeback);

/// Whether the server has listened again for a moment: what was under way before is over.
bool comeback_listens(const comeback *comeback);

/// A stream is accepted for the first time in this round. With the last one the round's figures are printed.
void comeback_returned(comeback *comeback, tally *tally);

/// A stream got an answer that is no stream, and does not come back.
void comeback_refused(comeback *comeback, tally *tally);
