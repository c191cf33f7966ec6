// Streams held against the contract: hello first, every count once and in order, every milestone once and in order,
// ids that only grow. The generator adds 1 with each intent, so what must come is known.
#pragma once

#include "stream.h"

/// Numbers that should come one after the other.
typedef struct {
    /// Bit d of `seen`: last - d was seen.
    uint64_t last, seen;
} sequence;

/// One feature of a stream.
typedef struct {
    session *session;
    /// `alone`: the stream's only feature.
    bool alone, hello, started, after_reset, labels_lost;
    char epoch[32];
    /// `version`, `intent`: of the newest state, and the hash of its intent's. `skipped`: states that this stream left
    /// out.
    uint64_t last_id, first_version, version, intent, label_sequence, label_number, skipped;
    int64_t first_count;
    sequence counts, milestones;
} checker;

/// A stream and its features.
typedef struct {
    stream stream;
    checker *checkers;
    unsigned count;
    /// Latencies are taken from it.
    bool measured;
} viewer;

/// `topics`: the session once for each of its features. Zeroed but for what was set in the stream's connection.
void viewer_open(viewer *viewer, session *topics, unsigned count, tally *tally);

/// It has shown a state of each feature, or ended.
bool viewer_started(const viewer *viewer);

/// Everything that the session's answers promise was shown, or it has ended.
bool viewer_complete(const viewer *viewer);

/// Counts what never came.
void viewer_finish(viewer *viewer);

void viewer_close(viewer *viewer);

/// Splits `<epoch>.<number>` and says whether the epoch is that one.
bool read_cursor(const char *epoch, json cursor, uint64_t *number);

/// Splits a label's id, `<cursor>.<number>`.
bool read_label_id(const char *epoch, json id, uint64_t *turn, uint64_t *number);
