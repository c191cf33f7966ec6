// A request that is sent until it is answered, over as many connections as that takes.
#pragma once

#include "common.h"
#include "http.h"
#include "json.h"
#include "net.h"
#include "survival.h"

typedef struct call call;

/// The answer. Inside it the call is free: it may be sent anew, or again.
typedef void (*call_handler)(call *call, int status, json body);

struct call {
    source source;
    network *network;
    survival *found;
    /// The caller's.
    void *owner;
    call_handler handler;
    /// The request, kept until the next one is written here.
    buffer request, body;
    http_response response;
    size_t sent;
    uint64_t wake_ns, deadline_ns, random;
    bool busy, writing;
    /// Cuts the connection once, right after the request: the client does not learn what became of it.
    bool drop;
};

void call_open(call *call, network *network, survival *found, void *owner, uint64_t seed);

/// Sends what `request` holds, `pause_ns` from now.
void call_send(call *call, uint64_t pause_ns, call_handler handler);

/// Does what is due by now; returns when it must be called again at the latest.
uint64_t call_tick(call *call, uint64_t now);

void call_close(call *call);
