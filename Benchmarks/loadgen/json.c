#include "json.h"

#include <stdarg.h>
#include <string.h>

typedef struct {
    const char *at, *end;
} cursor;

static void skip_space(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) c->at++;
}

static bool take(cursor *c, char byte) {
    if (c->at >= c->end || *c->at != byte) return false;
    c->at++;
    return true;
}

static bool is_hex(char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

static bool skip_string(cursor *c) {
    if (!take(c, '"')) return false;
    while (c->at < c->end) {
        unsigned char byte = (unsigned char)*c->at++;
        if (byte == '"') return true;
        if (byte < 0x20) return false;
        if (byte != '\\') continue;
        if (c->at >= c->end) return false;
        char escape = *c->at++;
        if (escape == 'u') {
            for (int i = 0; i < 4; i++) {
                if (c->at >= c->end || !is_hex(*c->at++)) return false;
            }
        } else if (!strchr("\"\\/bfnrt", escape)) {
            return false;
        }
    }
    return false;
}

static bool skip_digits(cursor *c) {
    const char *start = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') c->at++;
    return c->at > start;
}

static bool skip_number(cursor *c) {
    take(c, '-');
    if (!take(c, '0') && !skip_digits(c)) return false;
    if (take(c, '.') && !skip_digits(c)) return false;
    if (take(c, 'e') || take(c, 'E')) {
        if (!take(c, '+')) take(c, '-');
        return skip_digits(c);
    }
    return true;
}

static bool skip_word(cursor *c, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
    c->at += length;
    return true;
}

static bool skip_value(cursor *c, int depth);

static bool skip_container(cursor *c, char open, char close, int depth) {
    if (depth > 64 || !take(c, open)) return false;
    skip_space(c);
    if (take(c, close)) return true;
    do {
        skip_space(c);
        if (open == '{') {
            if (!skip_string(c)) return false;
            skip_space(c);
            if (!take(c, ':')) return false;
        }
        if (!skip_value(c, depth + 1)) return false;
        skip_space(c);
    } while (take(c, ','));
    return take(c, close);
}

static bool skip_value(cursor *c, int depth) {
    skip_space(c);
    if (c->at >= c->end) return false;
    switch (*c->at) {
    case '{': return skip_container(c, '{', '}', depth);
    case '[': return skip_container(c, '[', ']', depth);
    case '"': return skip_string(c);
    case 't': return skip_word(c, "true");
    case 'f': return skip_word(c, "false");
    case 'n': return skip_word(c, "null");
    default: return skip_number(c);
    }
}

static bool at_end(cursor *c) {
    skip_space(c);
    return c->at == c->end;
}

static bool find_members(json text, const json names[], json values[], size_t count) {
    memset(values, 0, count * sizeof *values);
    cursor c = {text.bytes, text.bytes + text.length};
    skip_space(&c);
    if (!take(&c, '{')) return false;
    skip_space(&c);
    if (take(&c, '}')) return at_end(&c);
    do {
        skip_space(&c);
        const char *name = c.at + 1;
        if (!skip_string(&c)) return false;
        size_t length = (size_t)(c.at - 1 - name);
        skip_space(&c);
        if (!take(&c, ':')) return false;
        skip_space(&c);
        const char *value = c.at;
        if (!skip_value(&c, 1)) return false;
        for (size_t i = 0; i < count; i++) {
            if (names[i].length != length || memcmp(names[i].bytes, name, length) != 0) continue;
            if (values[i].bytes) return false;  // a member twice
            values[i] = (json){value, (size_t)(c.at - value)};
        }
        skip_space(&c);
    } while (take(&c, ','));
    return take(&c, '}') && at_end(&c);
}

static bool plain_string(json text, json *value) {
    if (!text.bytes || text.length < 2 || text.bytes[0] != '"') return false;
    *value = (json){text.bytes + 1, text.length - 2};
    return memchr(value->bytes, '\\', value->length) == NULL;
}

bool json_read(json text, const char *members, ...) {
    enum { most = 8 };
    json names[most], values[most];
    size_t count = 0;
    for (const char *at = members; *at && count < most; at += strcspn(at, " "), at += *at == ' ') {
        names[count++] = (json){at, strcspn(at, ".:?")};
    }
    if (!text.bytes || !find_members(text, names, values, count)) return false;
    va_list targets;
    va_start(targets, members);
    bool fine = true;
    for (size_t i = 0; i < count; i++) {
        const char *end = names[i].bytes + names[i].length;
        if (*end == '.') {
            json inner = {end + 1, strcspn(end + 1, ":?")}, outer = values[i];
            fine = outer.bytes && find_members(outer, &inner, &values[i], 1) && fine;
            end = inner.bytes + inner.length;
        }
        void *target = va_arg(targets, void *);
        if (end[1] != 'i') *(json *)target = values[i];
        if (*end == '?' && !values[i].bytes) continue;
        if (end[1] == 'i') fine = json_integer(values[i], target) && fine;
        else if (end[1] == 's') fine = plain_string(values[i], target) && fine;
        else fine = values[i].bytes && fine;
    }
    va_end(targets);
    return fine;
}

bool json_integer(json text, int64_t *value) {
    if (!text.bytes || text.length == 0 || text.length > 20) return false;
    bool negative = text.bytes[0] == '-';
    if (text.length == (size_t)negative) return false;
    uint64_t magnitude = 0;
    for (size_t i = negative; i < text.length; i++) {
        char byte = text.bytes[i];
        if (byte < '0' || byte > '9' || __builtin_mul_overflow(magnitude, 10, &magnitude)
            || __builtin_add_overflow(magnitude, (uint64_t)(byte - '0'), &magnitude)) return false;
    }
    if (magnitude > INT64_MAX) return false;
    *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

bool json_equals(json text, const char *literal) {
    return text.bytes && text.length == strlen(literal) && memcmp(text.bytes, literal, text.length) == 0;
}
