// Reads members out of a JSON object without building anything. Strict: what is not JSON is refused.
#pragma once

#include "base.h"

/// A value's text inside the document, quotes and braces included; null bytes where a member is absent.
typedef struct {
    const char *bytes;
    size_t length;
} json;

/// Reads the named members of the object that `text` is, as in `"id:s version:i state.count:i intent?s"`, each into a
/// pointer of its type. `i`: an int64_t. `s`: a json, a string without its quotes and without escapes (ids and names
/// never have any). `j`: a json, any value as it stands. After `?` instead of `:` it may be absent. False if `text` is
/// not one JSON object and nothing else, or a member is not what it should be.
bool json_read(json text, const char *members, ...);

/// An integer's value; false if the text is none, or beyond 64 bits.
bool json_integer(json text, int64_t *value);

bool json_equals(json text, const char *literal);
