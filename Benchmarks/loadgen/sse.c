#include "sse.h"

#include <string.h>

// Puts the line's field into its place in the event, once; returns what is wrong with it.
static const char *take_line(sse_parser *parser, sse_event *event, const char *line, size_t length) {
    if (length == 0) return "an empty line inside an event";
    if (memchr(line, '\r', length) || memchr(line, 0, length)) return "CR or NUL in a line";
    if (line[0] == ':') return NULL;
    const char *colon = memchr(line, ':', length);
    if (!colon) return "a line without a colon";
    json name = {line, (size_t)(colon - line)}, value = {colon + 1, length - name.length - 1};
    if (value.length && value.bytes[0] == ' ') value = (json){value.bytes + 1, value.length - 1};
    if (json_equals(name, "retry")) {
        return json_integer(value, &parser->retry) && parser->retry >= 0 ? NULL : "a retry that is no number";
    }
    json *field = json_equals(name, "data") ? &event->data : json_equals(name, "event") ? &event->event
        : json_equals(name, "id") ? &event->id : NULL;
    if (!field) return "a field that is none of data, event, id, retry";
    if (field->bytes) return "a field twice in one event";
    if (field == &event->id && value.length == 0) return "an empty id";
    *field = value;
    return NULL;
}

static const char *take_block(
    sse_parser *parser, const char *block, size_t length, sse_handler handler, void *context
) {
    sse_event event = {0};
    for (const char *line = block, *end = block + length; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t line_length = (size_t)((newline ? newline : end) - line);
        const char *error = take_line(parser, &event, line, line_length);
        if (error) return error;
        line += line_length + 1;
    }
    if (event.data.bytes) {
        if (!event.event.bytes) return "an event without a name";
        handler(context, &event);
    } else if (event.event.bytes || event.id.bytes) {
        return "a name or an id without data";
    }
    return NULL;
}

// Takes whole blocks; returns how many bytes they were.
static size_t take_blocks(sse_parser *parser, const char *bytes, size_t length, sse_handler handler, void *context) {
    size_t taken = 0;
    while (!parser->error) {
        const char *end = memmem(bytes + taken, length - taken, "\n\n", 2);
        if (!end) break;
        size_t block = (size_t)(end - bytes) - taken;
        parser->error = take_block(parser, bytes + taken, block, handler, context);
        taken += block + 2;
    }
    return taken;
}

void sse_feed(sse_parser *parser, const char *bytes, size_t length, sse_handler handler, void *context) {
    if (parser->error) return;
    if (parser->pending.length) {
        buffer_append(&parser->pending, bytes, length);
        buffer_consume(
            &parser->pending,
            take_blocks(parser, parser->pending.bytes, parser->pending.length, handler, context));
        // Ten thousand idle streams keep no memory for it.
        if (parser->pending.length == 0) buffer_free(&parser->pending);
    } else {
        size_t taken = take_blocks(parser, bytes, length, handler, context);
        buffer_append(&parser->pending, bytes + taken, length - taken);
    }
    if (parser->pending.length > 16u << 20) parser->error = "an event of more than 16 MiB";
}
