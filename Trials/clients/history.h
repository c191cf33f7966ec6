// The life of one counter, put together from the answers: each intent adds at least one, so each makes one version, and
// the answers' versions must be a whole row without a hole and without a number given twice.
//
//   a version that two intents were told    the earlier of them is lost: the server forgot it and counted anew
//   a version beyond the server's last      lost likewise
//   a version that no intent was told       an intent ran twice, or one ran that nobody was answered for
#pragma once

#include "survival.h"

typedef struct {
    /// What the intent added; 0: nobody was told this version.
    uint32_t amount;
    /// A bit for each stream that showed its milestone.
    uint8_t milestones;
    bool shown;
    /// The hash of the intent's id, and of its milestone's.
    uint64_t intent, label;
    /// The count that a stream or an answer showed.
    int64_t count;
} history_entry;

typedef struct {
    survival *found;
    unsigned index;
    history_entry *entries;
    size_t capacity;
    uint64_t last_shown;
} history;

/// The answer to an intent.
void history_acknowledged(history *history, uint64_t version, uint32_t amount, uint64_t intent);

/// A state in an answer or an event.
void history_shown(history *history, uint64_t version, int64_t count);

/// A milestone on the stream of that number.
void history_label(
    history *history, unsigned stream, uint64_t version, int64_t count, uint64_t intent, uint64_t label);

/// Whether each of the first `streams` has shown every milestone up to `version`.
bool history_complete(const history *history, unsigned streams, uint64_t version);

/// Compares all that was told with the server's last word; counts what is lost and doubled.
void history_finish(history *history, unsigned streams, uint64_t version, int64_t count);

/// The intents that were acknowledged, all of them lost because their session is.
void history_lost(history *history);

void history_free(history *history);
