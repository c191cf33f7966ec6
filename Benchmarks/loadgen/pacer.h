// Posts `{"type":"add","amount":1}` round robin over the sessions: at a rate, or as fast as it is answered.
//
// At a rate an intent is due at its time whatever became of those before it, and its latency counts from then: a server
// that stalls shows the whole wait of everyone behind it, not one slow answer.
#pragma once

#include "fleet.h"

typedef struct {
    fleet *fleet;
    double rate;
    uint64_t start_ns, end_ns, next;
    /// Posters that wait for work.
    poster **free;
    unsigned free_count;
    /// The longest that an intent which was due waited for a free connection or for this process.
    uint64_t latest_ns;
} pacer;

/// From now on, for `seconds`.
void pacer_start(pacer *pacer, fleet *fleet, double rate, double seconds);

/// Posts what is due, handles what arrives, and returns at the latest at `until_ns`; false once all is answered.
bool pacer_turn(pacer *pacer, uint64_t until_ns);

/// No more intents; those under way are answered yet.
void pacer_stop(pacer *pacer);

void pacer_free(pacer *pacer);
