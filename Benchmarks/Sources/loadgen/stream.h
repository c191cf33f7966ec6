// An open stream of `GET /features/counter/events`.
#pragma once

#include "check.h"
#include "http.h"
#include "net.h"

typedef struct stream {
    source source;
    network *network;
    session *session;
    tally *tally;
    http_response response;
    sse_parser parser;
    checker checker;
    /// Latencies are taken from it.
    bool measured;
    bool requested, paused, finished;
    uint64_t read_ns, bytes;
} stream;

void stream_open(stream *stream, network *network, session *session, tally *tally, socket_kind kind);

/// Stops reading; the kernel's buffers fill up, then the server's.
void stream_pause(stream *stream);
void stream_resume(stream *stream);

void stream_close(stream *stream);
