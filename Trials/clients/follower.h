// A stream that comes back after each end with the last id that it was shown, and holds what it is shown then to what
// it was shown before.
#pragma once

#include "../../Benchmarks/loadgen/stream.h"
#include "subject.h"

typedef struct follower {
    stream stream;
    subject *subject;
    unsigned number;
    /// The last id, as it goes into Last-Event-ID; its number; the one that this connection began with.
    char cursor[160], epoch[64];
    uint64_t last_id, resumed_from, versions[feature_count];
    uint64_t wake_ns, random;
    /// The last `retry:`, in milliseconds; the last round that it has come back in.
    int64_t retry;
    unsigned round;
    bool hello, told, stopped;
} follower;

void follower_open(follower *follower, subject *subject, unsigned number, uint64_t seed);

/// Does what is due by now; returns when it must be called again at the latest.
uint64_t follower_tick(follower *follower, uint64_t now);
