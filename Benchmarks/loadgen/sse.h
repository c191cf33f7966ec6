// Server-sent events, read more strictly than a browser does: the contract promises one `data:` line an event, lines
// that end in LF, and no empty id.
#pragma once

#include "json.h"

typedef struct {
    /// Without bytes where the event has no such field.
    json id, event, data;
} sse_event;

typedef struct {
    buffer pending;
    /// Why the bytes are no stream of the contract; null while they are.
    const char *error;
    /// The last `retry:`, in milliseconds; 0 where none came.
    int64_t retry;
} sse_parser;

/// An event with data. Valid during the call.
typedef void (*sse_handler)(void *context, const sse_event *event);

void sse_feed(sse_parser *parser, const char *bytes, size_t length, sse_handler handler, void *context);
