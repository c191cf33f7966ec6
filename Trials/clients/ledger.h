// A hash table from the hash of an id to what is known of it.
#pragma once

#include "../../Benchmarks/loadgen/base.h"

typedef struct {
    /// 0: free.
    uint64_t key;
    /// What it must always be the same as.
    uint64_t value;
    bool acknowledged;
    /// A bit for each stream that showed it.
    uint8_t shown;
} ledger_entry;

typedef struct ledger {
    ledger_entry *entries;
    size_t count, capacity;
} ledger;

/// The key's entry, new and zeroed where there was none. Valid until the next call.
ledger_entry *ledger_at(ledger *ledger, uint64_t key);

void ledger_free(ledger *ledger);
