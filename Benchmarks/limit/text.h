// Text written without printf: formatting is part of what is measured.
#pragma once

#include "../loadgen/base.h"

typedef buffer text;

/// Appends the strings, which end in a null.
void text_strings(text *text, ...) __attribute__((sentinel));
void text_number(text *text, int64_t number);

/// Hexadecimal digits of so many random bytes, a multiple of 8, and NUL.
void random_digits(char *digits, size_t bytes);
