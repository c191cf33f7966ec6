// `{"type":"add","amount":5}`, and nothing else: a flat object of strings and integers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// False where the text is not that.
bool intent_parse(const char *bytes, size_t length, int64_t *amount);
