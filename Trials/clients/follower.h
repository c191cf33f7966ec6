// A stream that comes back after each end with the last id that it was shown, and holds what it is shown then to what
// it was shown before.
#pragma once

#include "http.h"
#include "net.h"
#include "sse.h"
#include "subject.h"

typedef struct {
    source source;
    network *network;
    subject *subject;
    unsigned number;
    http_response response;
    sse_parser parser;
    /// The last id, as it goes into Last-Event-ID; its number; the one that this connection began with.
    char cursor[160], epoch[64];
    uint64_t last_id, resumed_from, versions[feature_count];
    uint64_t wake_ns, random;
    bool requested, hello, stopped;
} follower;

void follower_open(follower *follower, network *network, subject *subject, unsigned number, uint64_t seed);

/// Does what is due by now; returns when it must be called again at the latest.
uint64_t follower_tick(follower *follower, uint64_t now);

void follower_close(follower *follower);
