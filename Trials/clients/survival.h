// What a run over crashes found.
#pragma once

#include "comeback.h"

/// In the order in which they are shown, the last six of which must be nought.
#define SURVIVAL_COUNTS(COUNT) \
    COUNT(acknowledged, "intents") \
    COUNT(repeats, "sent again, the connection was lost") \
    COUNT(dropped, "connections cut by the client before the answer") \
    COUNT(refused, "answers 409, 429, 503, 507, sent again a moment later") \
    COUNT(unavailable, "answers 503") \
    COUNT(full, "answers 507") \
    COUNT(answered_by_receipt, "") \
    COUNT(confirmed, "asked again after the answer") \
    COUNT(short_lived, "sessions made, used, deleted") \
    COUNT(connects, "streams opened or resumed") \
    COUNT(states_shown, "") \
    COUNT(labels_shown, "") \
    COUNT(redelivered, "labels shown twice to one stream, as at least once allows") \
    COUNT(lost, "intents") \
    COUNT(doubled, "intents") \
    COUNT(corrupt, "contradictions") \
    COUNT(labels_never_shown, "") \
    COUNT(labels_doubled, "") \
    COUNT(sessions_lost, "")

typedef struct {
    /// Answers and violations.
    tally *tally;
    /// Where streams come back as an EventSource does; else null.
    comeback *comeback;
#define COUNT(name, unit) uint64_t name;
    SURVIVAL_COUNTS(COUNT)
#undef COUNT
} survival;
