#include "request.h"

#include <stdio.h>
#include <string.h>

static char host_line[64];

void request_set_host(const char *host, uint16_t port) {
    snprintf(host_line, sizeof host_line, "Host: %s:%u\r\n", host, port);
}

static void append(buffer *out, const char *text) {
    buffer_append(out, text, strlen(text));
}

void request_append(buffer *out, const char *method, const char *path, const char *token, const char *body) {
    request_append_with(out, method, path, token, "", body);
}

void request_append_with(
    buffer *out, const char *method, const char *path, const char *token, const char *fields, const char *body
) {
    append(out, method);
    append(out, " ");
    append(out, path);
    append(out, " HTTP/1.1\r\n");
    append(out, host_line);
    if (token) {
        append(out, "Authorization: Bearer ");
        append(out, token);
        append(out, "\r\n");
    }
    append(out, fields);
    if (body) {
        char length[32];
        snprintf(length, sizeof length, "%zu", strlen(body));
        append(out, "Content-Type: application/json\r\nContent-Length: ");
        append(out, length);
        append(out, "\r\n\r\n");
        append(out, body);
    } else {
        append(out, "\r\n");
    }
}
