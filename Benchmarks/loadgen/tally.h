// What a run found: counts, the first few violations in words, and its figures.
#pragma once

#include "base.h"
#include "histogram.h"

/// The counts, in the order in which they are shown. `matched`: intents whose answer and event were brought together.
/// `skipped` states are legal where streams may conflate; `labels_lost`: a reset spoke of them.
#define TALLY_COUNTS(COUNT) \
    COUNT(posted) COUNT(accepted) COUNT(http_errors) COUNT(reconnects) \
    COUNT(states) COUNT(matched) COUNT(skipped) COUNT(duplicated) COUNT(reordered) COUNT(mismatched) \
    COUNT(labels) COUNT(labels_missing) COUNT(labels_duplicated) COUNT(labels_reordered) COUNT(labels_lost) \
    COUNT(replayed) COUNT(resets) COUNT(goaways) COUNT(pings) COUNT(cut) COUNT(violations)

typedef struct {
#define COUNT(name) uint64_t name;
    TALLY_COUNTS(COUNT)
#undef COUNT
    uint64_t statuses[600];
    /// From an intent to its answer and to its event.
    histogram answer, event;
} tally;

/// Counts something that the contract rules out, and says it in words the first ten times.
void tally_violation(tally *tally, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Forgets the latencies, not the counts: what came before was warming up.
void tally_forget_latencies(tally *tally);

/// The sum of all that must be nought.
uint64_t tally_faults(const tally *tally, bool may_conflate);

/// A figure of the run besides the tally's; `unit` says what it is.
void note(const char *name, double value, const char *unit);

/// What this process and the server's (0: none) have used at a moment, or since one.
typedef struct { double at, generator, server; } usage;

usage usage_now(unsigned pid);
usage usage_since(usage before, unsigned pid);

/// Notes it, with the server's time for each of `count` things as the figure `each`.
void note_usage(usage used, const char *each, double count);

/// The server's resident memory in KiB; with `settled` half a second on, when what follows a burst of connections is done.
uint64_t server_kib(unsigned pid, bool settled);

/// Prints figures, counts and verdict, writes them to the file `path` as JSON if there is one, and returns the exit code.
int report(const char *mode, const tally *tally, const char *path, bool passed);
