// One HTTP/1.1 response, read as its bytes arrive: head, then a body by length or in chunks.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    http_status_line, http_header, http_body, http_body_to_close, http_chunk_size, http_chunk_data, http_chunk_end,
    http_trailer, http_done, http_bad,
} http_state;

typedef struct {
    http_state state;
    int status;
    bool chunked, has_length, event_stream, closes;
    /// `application/problem+json`; `Idempotency-Replayed: true`.
    bool problem, replayed;
    /// The version in `ETag: "<epoch>.<version>"`; 0 where there is none.
    uint64_t version;
    /// Bytes left of the body or of the chunk.
    uint64_t remaining;
    /// Why the state is http_bad.
    const char *error;
    unsigned line_length;
    char line[512];
} http_response;

/// A part of the body, its chunks' framing undone. Valid during the call.
typedef void (*http_body_handler)(void *context, const char *bytes, size_t length);

/// Makes it ready for the next response.
void http_reset(http_response *response);

/// Takes bytes until the response is whole or bad; returns how many it took.
size_t http_feed(http_response *response, const char *bytes, size_t length, http_body_handler handler, void *context);
