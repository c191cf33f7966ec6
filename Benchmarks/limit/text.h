// Text written without printf: formatting is part of what is measured.
#pragma once

#include "../loadgen/base.h"

typedef buffer text;

void text_string(text *text, const char *string);
void text_number(text *text, int64_t number);

/// Hexadecimal digits of so many random bytes, a multiple of 8, and NUL.
void random_digits(char *digits, size_t bytes);
