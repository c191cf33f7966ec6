// What a run over crashes found.
#pragma once

#include "tally.h"

typedef struct {
    /// Answers and violations.
    tally *tally;
    // Intents. `repeats`: sent again because the connection was lost before the answer; `dropped`: by us, on purpose;
    // `refused`: 409, 429, 503, 507, sent again a moment later; `confirmed`: asked again after the answer.
    uint64_t acknowledged, repeats, dropped, refused, replayed, confirmed;
    /// 503 and 507, and the rest of the refusals.
    uint64_t unavailable, full;
    /// Short sessions made, used and deleted.
    uint64_t short_lived;
    // What must be nought.
    uint64_t lost, doubled, corrupt, labels_lost, labels_doubled, sessions_lost;
    // Streams. `redelivered`: a label that came again after a reconnect, which "at least once" allows.
    uint64_t labels, redelivered, connects, states;
} survival;
