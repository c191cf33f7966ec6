#include "intent.h"

#include <string.h>

typedef struct {
    const char *at, *end;
} scanner;

static bool take(scanner *scanner, char wanted) {
    while (scanner->at < scanner->end && strchr(" \t\r\n", *scanner->at)) scanner->at++;
    if (scanner->at == scanner->end || *scanner->at != wanted) return false;
    scanner->at++;
    return true;
}

static bool take_string(scanner *scanner, const char **text, size_t *length) {
    if (!take(scanner, '"')) return false;
    *text = scanner->at;
    while (scanner->at < scanner->end && *scanner->at != '"' && *scanner->at != '\\' && *scanner->at >= ' ') scanner->at++;
    *length = (size_t)(scanner->at - *text);
    return take(scanner, '"');
}

static bool take_integer(scanner *scanner, int64_t *number) {
    bool negative = take(scanner, '-');
    const char *first = scanner->at;
    *number = 0;
    while (scanner->at < scanner->end && *scanner->at >= '0' && *scanner->at <= '9' && scanner->at - first < 18) {
        *number = *number * 10 + (*scanner->at++ - '0');
    }
    if (negative) *number = -*number;
    return scanner->at > first;
}

bool intent_parse(const char *bytes, size_t length, int64_t *amount) {
    scanner scanner = {bytes, bytes + length};
    bool typed = false, amounted = false;
    if (!take(&scanner, '{')) return false;
    do {
        const char *name, *value;
        size_t name_length, value_length;
        if (!take_string(&scanner, &name, &name_length) || !take(&scanner, ':')) return false;
        if (name_length == 4 && memcmp(name, "type", 4) == 0) {
            if (typed || !take_string(&scanner, &value, &value_length)) return false;
            if (value_length != 3 || memcmp(value, "add", 3) != 0) return false;
            typed = true;
        } else if (name_length == 6 && memcmp(name, "amount", 6) == 0) {
            if (amounted || !take_integer(&scanner, amount)) return false;
            amounted = true;
        } else {
            return false;
        }
    } while (take(&scanner, ','));
    return take(&scanner, '}') && scanner.at == scanner.end && typed && amounted;
}
