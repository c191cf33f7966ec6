#include "history.h"

#include <stdlib.h>
#include <string.h>

#define VIOLATION(...) tally_violation(history->found->tally, "session %u: " __VA_ARGS__)

// A version is the number of a turn, and the session's other stores have turns as well: versions that no intent of this
// store was told belong to those, unless a stream showed another count there.

static history_entry *at(history *history, uint64_t version) {
    if (version >= 1u << 28) fail("session %u: a version of %llu", history->index, (u64)version);
    if (version >= history->capacity) {
        size_t capacity = history->capacity ? history->capacity : 256;
        while (capacity <= version) capacity *= 2;
        history_entry *entries = allocate(capacity, sizeof *entries);
        if (history->capacity) memcpy(entries, history->entries, history->capacity * sizeof *entries);
        free(history->entries);
        history->entries = entries;
        history->capacity = capacity;
    }
    return &history->entries[version];
}

static history_entry none;

static const history_entry *look(const history *history, uint64_t version) {
    return version < history->capacity ? &history->entries[version] : &none;
}

void history_acknowledged(history *history, uint64_t version, uint32_t amount, uint64_t intent) {
    history_entry *entry = at(history, version);
    if (entry->amount == 0) {
        entry->amount = amount;
        entry->intent = intent;
    } else if (entry->intent != intent) {
        VIOLATION("two intents were told version %llu: one of them is lost", history->index, (u64)version);
        history->found->lost++;
    }
}

void history_shown(history *history, uint64_t version, int64_t count) {
    history_entry *entry = at(history, version);
    if (entry->shown && entry->count != count) {
        VIOLATION(
            "version %llu showed %lld and now shows %lld", history->index, (u64)version, (long long)entry->count,
            (long long)count);
        history->found->corrupt++;
    }
    entry->shown = true;
    entry->count = count;
    if (version > history->last_shown) history->last_shown = version;
}

void history_label(
    history *history, unsigned stream, uint64_t version, int64_t count, uint64_t intent, uint64_t label
) {
    history_entry *entry = at(history, version);
    if (entry->milestones & 1u << stream) history->found->redelivered++;
    if (entry->label && entry->label != label) {
        VIOLATION("the milestone of version %llu came with two ids", history->index, (u64)version);
        history->found->labels_doubled++;
    }
    if (entry->intent && entry->intent != intent) {
        VIOLATION("the milestone of version %llu names another intent", history->index, (u64)version);
        history->found->corrupt++;
    }
    entry->label = label;
    entry->milestones |= (uint8_t)(1u << stream);
    history_shown(history, version, count);
}

static bool is_milestone(int64_t count) { return count != 0 && count % 10 == 0; }

bool history_complete(const history *history, unsigned streams, uint64_t version) {
    int64_t count = 0;
    for (uint64_t v = 1; v <= version; v++) {
        if (!look(history, v)->amount) continue;
        count += look(history, v)->amount;
        if (is_milestone(count) && look(history, v)->milestones != (1u << streams) - 1) return false;
    }
    return history->last_shown >= version;
}

void history_finish(history *history, unsigned streams, uint64_t version, int64_t count) {
    survival *found = history->found;
    int64_t sum = 0;
    uint64_t unknown = 0;
    for (uint64_t v = 1; v < history->capacity; v++) {
        const history_entry *entry = look(history, v);
        if (v > version) {
            if (entry->amount == 0 && !entry->shown) continue;
            VIOLATION("version %llu was told, and the server's last is %llu", history->index, (u64)v, (u64)version);
            if (entry->amount) found->lost++;
            else found->corrupt++;
            continue;
        }
        if (entry->amount == 0) {
            if (!entry->shown || entry->count == sum || unknown) continue;
            VIOLATION("version %llu is no acknowledged intent's: something ran twice", history->index, (u64)v);
            found->doubled++;
            unknown++;
        }
        sum += entry->amount;
        // After a hole the sums are not known.
        if (unknown) continue;
        if (entry->shown && entry->count != sum) {
            VIOLATION(
                "version %llu showed %lld, and the intents up to it make %lld", history->index, (u64)v,
                (long long)entry->count, (long long)sum);
            found->corrupt++;
        }
        for (unsigned stream = 0; stream < streams; stream++) {
            bool came = entry->milestones & 1u << stream;
            if (is_milestone(sum) == came) continue;
            VIOLATION(
                "stream %u: the milestone of version %llu (%lld) %s", history->index, stream, (u64)v, (long long)sum,
                came ? "came, and there is none" : "never came");
            if (came) found->corrupt++;
            else found->labels_never_shown++;
        }
    }
    if (!unknown && sum != count) {
        VIOLATION("the count is %lld, the acknowledged intents make %lld", history->index, (long long)count, (long long)sum);
        if (count < sum) found->lost++;
        else found->doubled++;
    }
}

void history_lost(history *history) {
    for (size_t v = 0; v < history->capacity; v++) {
        if (history->entries[v].amount) history->found->lost++;
    }
}

void history_free(history *history) {
    free(history->entries);
    history->entries = NULL;
    history->capacity = 0;
}
