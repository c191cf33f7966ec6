#include "ledger.h"

#include <stdlib.h>

static ledger_entry *find(ledger_entry *entries, size_t capacity, uint64_t key) {
    size_t at = (key ^ key >> 32) & (capacity - 1);
    while (entries[at].key && entries[at].key != key) at = (at + 1) & (capacity - 1);
    return &entries[at];
}

static void grow(ledger *ledger) {
    size_t capacity = ledger->capacity ? 2 * ledger->capacity : 64;
    ledger_entry *entries = allocate(capacity, sizeof *entries);
    for (size_t i = 0; i < ledger->capacity; i++) {
        if (ledger->entries[i].key) *find(entries, capacity, ledger->entries[i].key) = ledger->entries[i];
    }
    free(ledger->entries);
    ledger->entries = entries;
    ledger->capacity = capacity;
}

ledger_entry *ledger_at(ledger *ledger, uint64_t key) {
    if (key == 0) key = 1;
    if (2 * ledger->count >= ledger->capacity) grow(ledger);
    ledger_entry *entry = find(ledger->entries, ledger->capacity, key);
    if (!entry->key) {
        entry->key = key;
        ledger->count++;
    }
    return entry;
}

void ledger_free(ledger *ledger) {
    free(ledger->entries);
    *ledger = (struct ledger){0};
}
