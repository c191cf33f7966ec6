// An open stream of a feature, or of several.
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
    /// Where its events go instead of to the checker; null for the checker.
    sse_handler handler;
    void *context;
    /// The request: null for the session's feature; header lines more.
    const char *path, *fields;
    /// A body that ends with the connection is as good as chunks.
    bool may_be_unframed;
    /// Latencies are taken from it.
    bool measured;
    bool requested, paused, finished;
    uint64_t read_ns, bytes;
} stream;

void stream_open(stream *stream, network *network, session *session, tally *tally, socket_kind kind);

/// The same with what was set in handler, context, path, fields and may_be_unframed.
void stream_open_as_set(stream *stream, network *network, session *session, tally *tally, socket_kind kind);

/// Stops reading; the kernel's buffers fill up, then the server's.
void stream_pause(stream *stream);
void stream_resume(stream *stream);

void stream_close(stream *stream);
