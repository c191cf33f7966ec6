// Reads members out of a JSON object without building anything. Strict: what is not JSON is refused.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A value's text inside the document, quotes and braces included; null bytes where a member is absent.
typedef struct {
    const char *bytes;
    size_t length;
} json;

/// Finds the named members of the object that `text` is; false if `text` is not one JSON object and nothing else.
bool json_members(json text, const char *const names[], json values[], size_t count);

/// The number of an array's elements, or -1 if it is none.
int64_t json_array_count(json array);

/// An integer's value; false if the text is none, or beyond 64 bits.
bool json_integer(json text, int64_t *value);

/// A string without its quotes; false if the text is none, or has escapes (ids and names never do).
bool json_plain_string(json text, json *value);

bool json_equals(json text, const char *literal);
