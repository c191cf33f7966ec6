#include "http.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void http_reset(http_response *response) {
    memset(response, 0, offsetof(http_response, line));
}

static void bad(http_response *response, const char *why) {
    response->state = http_bad;
    response->error = why;
}

static void begin_body(http_response *r) {
    if (r->status / 100 == 1) {
        http_reset(r);
    } else if (r->status == 204 || r->status == 304) {
        r->state = http_done;
    } else if (r->chunked && r->has_length) {
        bad(r, "both Content-Length and Transfer-Encoding");
    } else if (r->chunked) {
        r->state = http_chunk_size;
    } else if (r->has_length) {
        r->state = r->remaining ? http_body : http_done;
    } else {
        r->state = http_body_to_close;
    }
}

// The value of the header line if it has that name, else null. `name` ends in a colon.
static const char *value_of(const char *line, const char *name) {
    size_t length = strlen(name);
    if (strncasecmp(line, name, length) != 0) return NULL;
    return line + length + strspn(line + length, " \t");
}

static void take_header(http_response *r) {
    const char *value;
    if (r->line_length == 0) {
        begin_body(r);
    } else if ((value = value_of(r->line, "Content-Length:"))) {
        char *end;
        r->remaining = strtoull(value, &end, 10);
        if (end == value || *end || r->has_length) bad(r, "a Content-Length that is not one number");
        r->has_length = true;
    } else if ((value = value_of(r->line, "Transfer-Encoding:"))) {
        if (strcasecmp(value, "chunked") != 0) bad(r, "a Transfer-Encoding other than chunked");
        r->chunked = true;
    } else if ((value = value_of(r->line, "Content-Type:"))) {
        r->event_stream = strncasecmp(value, "text/event-stream", 17) == 0;
        r->problem = strncasecmp(value, "application/problem+json", 24) == 0;
    } else if ((value = value_of(r->line, "Idempotency-Replayed:"))) {
        r->replayed = strcasecmp(value, "true") == 0;
    } else if ((value = value_of(r->line, "ETag:"))) {
        const char *dot = strrchr(value, '.');
        r->version = dot ? strtoull(dot + 1, NULL, 10) : 0;
    } else if ((value = value_of(r->line, "Connection:"))) {
        r->closes = strcasecmp(value, "close") == 0;
    }
}

static void take_line(http_response *r) {
    switch (r->state) {
    case http_status_line:
        if (strncmp(r->line, "HTTP/1.1 ", 9) != 0 || r->line_length < 12) return bad(r, "no HTTP/1.1 status line");
        r->status = atoi(r->line + 9);
        r->state = http_header;
        return;
    case http_header:
        return take_header(r);
    case http_chunk_size: {
        char *end;
        r->remaining = strtoull(r->line, &end, 16);
        if (end == r->line || *end) return bad(r, "a chunk size that is no number");
        r->state = r->remaining ? http_chunk_data : http_trailer;
        return;
    }
    case http_chunk_end:
        if (r->line_length) return bad(r, "a chunk longer than its size");
        r->state = http_chunk_size;
        return;
    case http_trailer:
        if (r->line_length == 0) r->state = http_done;
        return;
    default:
        return;
    }
}

// Gathers a line up to CR LF, which it leaves out, and ends it with NUL.
static size_t feed_line(http_response *r, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n') {
            if (r->line_length == 0 || r->line[r->line_length - 1] != '\r') {
                bad(r, "a line that does not end in CR LF");
                return i + 1;
            }
            r->line[--r->line_length] = 0;
            take_line(r);
            r->line_length = 0;
            return i + 1;
        }
        if (r->line_length == sizeof r->line - 1) {
            bad(r, "a head line of more than 510 bytes");
            return i;
        }
        r->line[r->line_length++] = bytes[i];
    }
    return length;
}

size_t http_feed(http_response *r, const char *bytes, size_t length, http_body_handler handler, void *context) {
    size_t taken = 0;
    while (taken < length && r->state != http_done && r->state != http_bad) {
        const char *rest = bytes + taken;
        size_t left = length - taken;
        switch (r->state) {
        case http_body:
        case http_chunk_data: {
            size_t part = left < r->remaining ? left : (size_t)r->remaining;
            handler(context, rest, part);
            taken += part;
            r->remaining -= part;
            if (r->remaining == 0) r->state = r->state == http_body ? http_done : http_chunk_end;
            break;
        }
        case http_body_to_close:
            handler(context, rest, left);
            taken += left;
            break;
        default:
            taken += feed_line(r, rest, left);
        }
    }
    return taken;
}
