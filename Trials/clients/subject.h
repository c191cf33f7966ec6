// One session of a run over crashes: what its lanes were answered and what its streams showed.
#pragma once

#include "../../Benchmarks/loadgen/session.h"
#include "history.h"
#include "ledger.h"
#include "survival.h"

typedef enum { feature_counter, feature_lesson, feature_order, feature_count } subject_feature;

/// Their ids on the wire. What the counter is asked makes versions, the lesson labels, the order work that goes on.
extern const char *const subject_features[feature_count];

typedef struct {
    session session;
    survival *found;
    unsigned index, streams;
    history counter;
    /// By intent: each tap leads to one label. By label: its content.
    ledger taps, labels;
    uint64_t last_sequence;
    /// The server knows it no more.
    bool gone;
    /// Its states were read at the end.
    bool closed;
    uint64_t last_version;
    int64_t last_count;
} subject;

/// The feature of that id, or feature_count.
subject_feature subject_feature_of(json id);

void subject_tapped(subject *subject, uint64_t intent);

/// A label on one of its streams. `content` is everything of it that must stay the same.
void subject_label(subject *subject, unsigned stream, uint64_t label, uint64_t content);
void subject_tap_label(subject *subject, unsigned stream, uint64_t intent, uint64_t label);

/// The server does not know the session; everything it acknowledged there is lost.
void subject_gone(subject *subject);

/// Its streams have shown all that they owe.
bool subject_complete(const subject *subject);

void subject_finish(subject *subject);
void subject_free(subject *subject);
