// Text that grows, written without printf: formatting is part of what is measured.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *bytes;
    size_t length, capacity;
} text;

void text_bytes(text *text, const char *bytes, size_t length);
void text_string(text *text, const char *string);
void text_number(text *text, int64_t number);

/// Hexadecimal digits of so many random bytes, a multiple of 8, and NUL.
void random_digits(char *digits, size_t bytes);

_Noreturn void fail(const char *what);

/// Zeroed; never null.
void *allocate(size_t size);
