// Requests as bytes.
#pragma once

#include "common.h"

/// Says what goes into `Host`.
void request_set_host(const char *host, uint16_t port);

/// Appends a request. `token`: null for none. `body`: null for none, else JSON.
void request_append(buffer *out, const char *method, const char *path, const char *token, const char *body);

/// The same with header lines of the caller's, each ending in CR LF.
void request_append_with(
    buffer *out, const char *method, const char *path, const char *token, const char *fields, const char *body);
