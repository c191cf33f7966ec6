#include "text.h"

#include <stdarg.h>
#include <string.h>
#include <sys/random.h>

void text_strings(text *text, ...) {
    va_list strings;
    va_start(strings, text);
    for (const char *string; (string = va_arg(strings, const char *));) buffer_append(text, string, strlen(string));
    va_end(strings);
}

void text_number(text *text, int64_t number) {
    char digits[24], *first = digits + sizeof digits;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do *--first = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0) *--first = '-';
    buffer_append(text, first, (size_t)(digits + sizeof digits - first));
}

void random_digits(char *digits, size_t bytes) {
    static const char hexadecimal[] = "0123456789abcdef";
    static _Thread_local uint64_t state[512];
    static _Thread_local size_t used = 512;
    for (size_t i = 0; i < bytes; i += 8) {
        if (used == 512) {
            if (getrandom(state, sizeof state, 0) != sizeof state) fail("getrandom failed");
            used = 0;
        }
        uint64_t word = state[used++];
        for (int digit = 0; digit < 16; digit++, word >>= 4) *digits++ = hexadecimal[word & 15];
    }
    *digits = 0;
}
