// What a run found: counts, and the first few violations in words.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "histogram.h"

typedef struct {
    // Intents.
    uint64_t posted, accepted, http_errors, reconnects, statuses[600];
    // Streams.
    uint64_t states, labels, matched, skipped, duplicated, reordered, mismatched;
    uint64_t labels_missing, labels_duplicated, labels_reordered, labels_lost, replayed;
    uint64_t resets, goaways, pings, cut, violations;
    histogram answer, event;
} tally;

/// Counts something that the contract rules out, and says it in words the first ten times.
void tally_violation(tally *tally, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Forgets the latencies, not the counts: what came before was warming up.
void tally_forget_latencies(tally *tally);

/// The sum of all that must be nought. Skipped states are legal where streams may conflate.
uint64_t tally_faults(const tally *tally, int may_conflate);

/// How often each status was the answer.
void tally_print_answers(const tally *tally, FILE *file);

void tally_print(const tally *tally, FILE *file);

/// The members of a JSON object, without its braces.
void tally_write_json(const tally *tally, FILE *file);
