// An open stream of a feature, or of several.
#pragma once

#include "net.h"
#include "session.h"
#include "sse.h"

typedef struct stream stream;

/// Why it is over: cut off, closed with a last chunk, answered with another status, or not what a stream should be.
typedef enum { stream_cut, stream_closed, stream_refused, stream_broken } stream_end;

/// All zero but for `session`, `tally`, `event` and what else is wanted is one that was not opened yet.
struct stream {
    connection connection;
    sse_parser parser;
    session *session;
    tally *tally;
    void (*event)(stream *stream, const sse_event *event);
    /// Null where an end is a violation. It may open the stream again.
    void (*ended)(stream *stream, stream_end end, const char *why);
    /// Its request is sent; bytes have come and were shown. Null where nobody asks.
    void (*sent)(stream *stream), (*read)(stream *stream);
    /// A body that ends with the connection is as good as chunks.
    bool may_be_unframed;
    bool finished;
};

/// `path`: null for the session's feature. `fields`: header lines more. Where there is no way to connect it ends as cut.
void stream_open(stream *stream, const char *path, const char *fields);

void stream_close(stream *stream);
