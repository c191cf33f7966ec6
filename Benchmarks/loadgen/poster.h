// A keep-alive connection: one request under way at a time, its answer handed over whole.
#pragma once

#include "json.h"
#include "net.h"
#include "tally.h"

typedef struct poster poster;

/// Status 0: the connection was lost before the answer. The poster is free again when this is called.
typedef void (*poster_handler)(poster *poster, int status, json body);

struct poster {
    connection connection;
    tally *tally;
    buffer body;
    poster_handler handler;
    /// The caller's: what the request under way is about.
    void *owner, *item;
    uint64_t intended_ns;
    /// Header lines more; null for none.
    const char *fields;
    bool busy;
    /// A proxy is in front, whose 502, 503 and 504 are no problem documents.
    bool proxied;
    /// Set where the client is to cut the connection once its request is sent; called then.
    void (*sent)(poster *poster);
};

void poster_open(poster *poster, tally *tally, void *owner);

/// Sends a request; the poster must be free.
void poster_send(
    poster *poster, const char *method, const char *path, const char *token, const char *body, poster_handler handler);

/// Sends the request that its connection holds, once more; false if there is no way to connect.
bool poster_send_again(poster *poster, poster_handler handler);

void poster_close(poster *poster);
