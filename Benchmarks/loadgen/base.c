#include "base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(2);
}

uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t after(double seconds) { return now_ns() + (uint64_t)(seconds * 1e9); }

void *allocate(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory) fail("out of memory: %zu x %zu bytes", count, size);
    return memory;
}

static void make_room(buffer *buffer, size_t length) {
    if (buffer->length + length <= buffer->capacity) return;
    if (!buffer->capacity) buffer->capacity = 256;
    while (buffer->capacity < buffer->length + length) buffer->capacity *= 2;
    buffer->bytes = realloc(buffer->bytes, buffer->capacity);
    if (!buffer->bytes) fail("out of memory: %zu bytes", buffer->capacity);
}

void buffer_append(buffer *buffer, const void *bytes, size_t length) {
    if (length == 0) return;
    make_room(buffer, length);
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
}

void buffer_print(buffer *buffer, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    size_t room = buffer->capacity - buffer->length;
    int length = vsnprintf(buffer->bytes ? buffer->bytes + buffer->length : NULL, room, format, arguments);
    if ((size_t)length >= room) {
        make_room(buffer, (size_t)length + 1);
        vsnprintf(buffer->bytes + buffer->length, (size_t)length + 1, format, again);
    }
    buffer->length += (size_t)length;
    va_end(arguments);
    va_end(again);
}

void buffer_consume(buffer *buffer, size_t length) {
    if (length == 0) return;
    buffer->length -= length;
    memmove(buffer->bytes, buffer->bytes + length, buffer->length);
}

void buffer_free(buffer *buffer) {
    free(buffer->bytes);
    memset(buffer, 0, sizeof *buffer);
}

uint64_t hash_bytes(const char *bytes, size_t length) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return hash;
}

uint64_t next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}
