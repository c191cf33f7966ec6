// What every file needs: time, failing, growing buffers, a repeatable random number.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned long long u64;

/// Ends the process with 2: it could not be run, which says nothing about the server.
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Nanoseconds of the monotonic clock, now and so many seconds on.
uint64_t now_ns(void);
uint64_t after(double seconds);

/// Bytes that grow; all zero is an empty one.
typedef struct {
    char *bytes;
    size_t length, capacity;
} buffer;

void buffer_append(buffer *buffer, const void *bytes, size_t length);
void buffer_print(buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_consume(buffer *buffer, size_t length);
void buffer_free(buffer *buffer);

/// Zeroed memory; never null.
void *allocate(size_t count, size_t size);

/// FNV-1a, to compare ids without keeping them.
uint64_t hash_bytes(const char *bytes, size_t length);

/// xorshift64*; the same seed gives the same run.
uint64_t next_random(uint64_t *state);
