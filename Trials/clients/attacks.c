// What each attack of the flood sends.
#include <stdio.h>
#include <string.h>

#include "../../Benchmarks/loadgen/session.h"
#include "flood.h"

char tokens[most_tokens][96];
unsigned token_count;

static const char *token_of(const attacker *attacker, unsigned shared_by) {
    unsigned index = attacker->index / shared_by;
    return index < token_count ? tokens[index] : NULL;
}

// --- New sessions, as many as there are to be had ---

static bool ask_session(attacker *self) {
    if (!self->prepared) connection_ask(&self->connection, "POST", "/sessions", NULL, NULL, NULL);
    return self->prepared = true;
}

static void take_session(attacker *self) {
    session made = {0};
    if (self->connection.response.status != 201 || token_count == most_tokens) return;
    if (!session_take(&made, (json){self->body, self->body_length})) return;
    memcpy(tokens[token_count++], made.token, sizeof made.token);
}

// --- Streams that are not read, four of a session ---

static bool ask_stream(attacker *self) {
    const char *token = token_of(self, 4);
    if (!token) return false;
    if (!self->prepared) connection_ask(&self->connection, "GET", "/features/counter/events", token, NULL, NULL);
    return self->prepared = true;
}

static void take_stream(attacker *self) {
    self->held = self->connection.response.status == 200 && self->connection.response.state != http_done
        && !memmem(self->body, self->body_length, "goaway", 6);
}

// --- Bodies of a mebibyte, where none is taken and where one is ---

static bool ask_with_body(attacker *self) {
    static const struct { const char *method, *path; size_t length; } targets[] = {
        {"POST", "/sessions", 1 << 20},
        {"POST", "/features/counter/intents", 1 << 20},
        {"GET", "/features/counter/state", 1 << 20},
        {"POST", "/features/counter/intents", (1 << 20) + 1},
        {"DELETE", "/features/counter/state", 1 << 20},
        {"POST", "/features/counter/intents", (1 << 20) - 100},
        {"GET", "/health/live", 1 << 20},
        {"POST", "/nowhere", 1 << 20},
    };
    static char filler[4096];
    const char *token = token_of(self, 1);
    if (!token) return false;
    if (self->prepared) return true;
    size_t target = self->index % (sizeof targets / sizeof *targets), length = targets[target].length;
    buffer *out = &self->connection.out;
    char fields[128];
    snprintf(fields, sizeof fields, "Content-Type: application/json\r\nContent-Length: %zu\r\n", length);
    connection_ask(&self->connection, targets[target].method, targets[target].path, token, fields, NULL);
    size_t end = out->length + length;
    buffer_print(out, "{\"type\":\"add\",\"amount\":1,\"filler\":\"");
    memset(filler, 'x', sizeof filler);
    while (out->length < end - 2) {
        size_t left = end - 2 - out->length;
        buffer_append(out, filler, left < sizeof filler ? left : sizeof filler);
    }
    buffer_append(out, "\"}", 2);
    return self->prepared = true;
}

// --- Requests that do not end ---

static bool begin_slowly(attacker *self) {
    static const char *const begins[] = {
        // Its head comes byte by byte, or stops in the middle; its body comes byte by byte.
        "G", "GET /features/counter/state HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/",
        "POST /sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n{",
    };
    const char *begin = begins[self->index % 3];
    self->connection.out.length = 0;
    buffer_append(&self->connection.out, begin, strlen(begin));
    self->turn = 0;
    return true;
}

static const char *drip(attacker *self) {
    static const char head[] = "ET /features/counter/state HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ";
    switch (self->index % 3) {
    case 0: return self->turn < sizeof head - 1 ? &head[self->turn++] : "x";
    case 1: return NULL;
    default: return " ";
    }
}

// --- Silence ---

static bool say_nothing(attacker *self) {
    self->connection.out.length = 0;
    return true;
}

// --- Intents whose `type` is written in escapes: a short one that is meant, a long one that is none ---

static bool ask_with_escapes(attacker *self) {
    const char *token = token_of(self, 1);
    if (!token) return false;
    if (self->prepared) return true;
    buffer body = {0};
    if (self->index % 2) {
        buffer_print(&body, "{\"\\u0074ype\":\"\\u0061\\u0064\\u0064\",\"amount\":1}");
    } else {
        buffer_print(&body, "{\"type\":\"");
        for (int i = 0; i < 2600; i++) buffer_print(&body, i % 2 ? "\\u0061" : "\\ud83d\\ude00");
        buffer_print(&body, "\",\"amount\":1}");
    }
    connection_ask(&self->connection, "POST", "/features/counter/intents", token, NULL, body.bytes);
    buffer_free(&body);
    return self->prepared = true;
}

// --- Thousands of entity tags, in as large a head as there may be ---

static bool ask_with_tags(attacker *self) {
    const char *token = token_of(self, 1);
    if (!token) return false;
    if (self->prepared) return true;
    buffer fields = {0};
    buffer_print(&fields, "If-None-Match: \"a\"");
    while (fields.length < 16000) buffer_print(&fields, ",\"%c\"", (char)('a' + fields.length % 26));
    buffer_append(&fields, "\r\n", 3);
    connection_ask(&self->connection, "GET", "/features/counter/state", token, fields.bytes, NULL);
    buffer_free(&fields);
    return self->prepared = true;
}

// --- Requests that wait for a change that does not come ---

static bool ask_to_wait(attacker *self) {
    const char *token = token_of(self, 2);
    if (!token) return false;
    if (!self->prepared) {
        connection_ask(
            &self->connection, "GET", "/features/counter/state", token, "If-None-Match: *\r\nPrefer: wait=10\r\n", NULL);
    }
    return self->prepared = true;
}

const attack attacks[attack_count] = {
    {.name = "sessions", .count = 64, .prepare = ask_session, .answered = take_session, .pause_ms = 10},
    {.name = "streams", .count = 4200, .prepare = ask_stream, .answered = take_stream, .room = 500, .pause_ms = 200},
    {.name = "bodies", .count = 64, .prepare = ask_with_body, .pause_ms = 10},
    {.name = "slow", .count = 300, .prepare = begin_slowly, .drip = drip, .pause_ms = 10},
    {.name = "escapes", .count = 64, .prepare = ask_with_escapes, .pause_ms = 10},
    {.name = "tags", .count = 64, .prepare = ask_with_tags, .pause_ms = 10},
    {.name = "waits", .count = 300, .prepare = ask_to_wait, .pause_ms = 100},
    {.name = "silent", .count = 3000, .prepare = say_nothing, .pause_ms = 100, .silent = true},
};
