#include "subject.h"

#define VIOLATION(...) tally_violation(subject->found->tally, "session %u: " __VA_ARGS__)

const char *const subject_features[feature_count] = {"counter", "lesson-detail:7", "order-detail:42"};

subject_feature subject_feature_of(json id) {
    unsigned feature = 0;
    while (feature < feature_count && !json_equals(id, subject_features[feature])) feature++;
    return feature;
}

void subject_tapped(subject *subject, uint64_t intent) {
    ledger_at(&subject->taps, intent)->acknowledged = true;
}

void subject_label(subject *subject, unsigned stream, uint64_t label, uint64_t content) {
    ledger_entry *entry = ledger_at(&subject->labels, label);
    if (entry->value && entry->value != content) {
        VIOLATION("one label id stands for two labels", subject->index);
        subject->found->corrupt++;
    }
    entry->value = content;
    entry->shown |= (uint8_t)(1u << stream);
    subject->found->labels_shown++;
}

void subject_tap_label(subject *subject, unsigned stream, uint64_t intent, uint64_t label) {
    ledger_entry *tap = ledger_at(&subject->taps, intent);
    if (tap->shown & 1u << stream) subject->found->redelivered++;
    if (tap->value && tap->value != label) {
        VIOLATION("one intent led to two labels", subject->index);
        subject->found->labels_doubled++;
    }
    tap->value = label;
    tap->shown |= (uint8_t)(1u << stream);
}

void subject_gone(subject *subject) {
    if (subject->gone) return;
    subject->gone = true;
    VIOLATION("the server does not know it", subject->index);
    subject->found->sessions_lost++;
    history_lost(&subject->counter);
    for (size_t i = 0; i < subject->taps.capacity; i++) {
        if (subject->taps.entries[i].acknowledged) subject->found->lost++;
    }
}

bool subject_complete(const subject *subject) {
    if (subject->gone) return true;
    for (size_t i = 0; i < subject->taps.capacity; i++) {
        const ledger_entry *tap = &subject->taps.entries[i];
        if (tap->acknowledged && tap->shown != (1u << subject->streams) - 1) return false;
    }
    return subject->closed && history_complete(&subject->counter, subject->streams, subject->last_version);
}

void subject_finish(subject *subject) {
    if (subject->gone) return;
    if (!subject->closed) {
        VIOLATION("its state could not be read at the end", subject->index);
        return;
    }
    history_finish(&subject->counter, subject->streams, subject->last_version, subject->last_count);
    for (size_t i = 0; i < subject->taps.capacity; i++) {
        const ledger_entry *tap = &subject->taps.entries[i];
        if (!tap->key) continue;
        if (!tap->acknowledged) {
            VIOLATION("a label of an intent that nobody was answered for: it ran twice", subject->index);
            subject->found->doubled++;
        }
        for (unsigned stream = 0; stream < subject->streams; stream++) {
            if (tap->shown & 1u << stream) continue;
            VIOLATION("stream %u: the label of an acknowledged intent never came", subject->index, stream);
            subject->found->labels_never_shown++;
        }
    }
}

void subject_free(subject *subject) {
    history_free(&subject->counter);
    ledger_free(&subject->taps);
    ledger_free(&subject->labels);
}
