#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "options.h"

static const struct option {
    const char *name;
    enum { flag, text, whole, number } kind;
    size_t at;
    double least, most;
    const char *help;
} table[] = {
    {"--port", whole, offsetof(options, port), 1, 65535, "of 127.0.0.1, on which the server listens"},
    {"--connections", whole, offsetof(options, connections), 1, 10000, "keep-alive connections that post"},
    {"--rate", number, offsetof(options, rate), 0, 1e6,
     "intents a second, sent when they are due whatever the answers do, latencies from then on; 0: each connection "
     "posts again as soon as it is answered"},
    {"--seconds", number, offsetof(options, seconds), 0.1, 3600, "how long intents flow"},
    {"--warmup", number, offsetof(options, warmup), 0, 600, "seconds before latencies count"},
    {"--streams", whole, offsetof(options, streams), 1, 200000,
     "sessions with a stream each, or one session's streams; survive: streams that come back as an EventSource does"},
    {"--active", whole, offsetof(options, active), 1, 200000, "load: intents go to so many of the sessions (all)"},
    {"--feature", text, offsetof(options, feature), 0, 0, "what is asked and shown"},
    {"--features", whole, offsetof(options, features), 1, 32, "load: features of each stream, ID-1, ID-2, ... (one, ID)"},
    {"--may-conflate", flag, offsetof(options, may_conflate), 0, 0, "load: a skipped state is no fault, as the contract has it"},
    {"--keep", text, offsetof(options, keep), 0, 0, "load: its sessions' ids and tokens go there"},
    {"--tokens", text, offsetof(options, tokens), 0, 0, "load: sessions that were kept so, instead of new ones"},
    {"--nchan", flag, offsetof(options, nchan), 0, 0, "fanout: the server is nchan, with /publish/1 and /subscribe/1"},
    {"--clients", whole, offsetof(options, clients), 1, 20000, "vanish: at a time"},
    {"--rounds", whole, offsetof(options, rounds), 1, 10000, "vanish: how often each vanishes"},
    {"--sessions", whole, offsetof(options, sessions), 1, 100000, "vanish: shared by the clients; survive: three clients each; fanout: of a shared store (1)"},
    {"--seed", whole, offsetof(options, seed), 0, 4294967295.0, "survive: for what is left to chance"},
    {"--expect-overflow", flag, offsetof(options, expect_overflow), 0, 0,
     "slow: the outbox is smaller than what is missed, a reset must say so"},
    {"--from", whole, offsetof(options, from), 1, 254, "connections come from 127.0.0.N (1)"},
    {"--networks", flag, offsetof(options, networks), 0, 0, "flood: connections come from 127.0.0.2 to 127.0.0.9"},
    {"--parts", text, offsetof(options, parts), 0, 0,
     "flood: the attacks, with commas (all); hold: what is held, one of bodies, waits, streams, blocked, demo"},
    {"--proxied", flag, offsetof(options, proxied), 0, 0, "survive: a proxy is in front, which answers 502 to 504 while no server listens"},
    {"--pid", whole, offsetof(options, pid), 1, 4194304, "the server's process, whose use of processor and memory is noted"},
    {"--json", text, offsetof(options, json), 0, 0, "a file for the report as JSON"},
};

static void print_usage(FILE *file) {
    fputs("MODE --port PORT [options]    loads a server of this machine and holds its streams to the contract\n\n", file);
    for (const mode *const *mode = modes; *mode; mode++) fprintf(file, "  %-12s %s\n", (*mode)->name, (*mode)->summary);
    fputc('\n', file);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) fprintf(file, "  %-18s %s\n", table[i].name, table[i].help);
    fputs("\nExit code: 0 everything held, 1 something did not, 2 it could not run.\n", file);
}

_Noreturn static void wrong(const char *what, const char *value) {
    fprintf(stderr, "%s: '%s'\n\n", what, value);
    print_usage(stderr);
    exit(2);
}

static void set(options *options, const struct option *option, const char *value) {
    char *place = (char *)options + option->at, *end;
    if (option->kind == flag) {
        *(bool *)place = true;
    } else if (option->kind == text) {
        *(const char **)place = value;
    } else {
        errno = 0;
        double read = strtod(value, &end);
        if (errno || end == value || *end || !(read >= option->least && read <= option->most)
            || (option->kind == whole && read != (double)(unsigned)read)) wrong(option->name, value);
        if (option->kind == whole) *(unsigned *)place = (unsigned)read;
        else *(double *)place = read;
    }
}

int main(int count, char *arguments[]) {
    if (count > 1 && strcmp(arguments[1], "--help") == 0) {
        print_usage(stdout);
        return 0;
    }
    const mode *const *mode = modes;
    while (*mode && (count < 2 || strcmp((*mode)->name, arguments[1]) != 0)) mode++;
    if (!*mode) wrong("no mode", count < 2 ? "" : arguments[1]);
    options options = (*mode)->defaults;
    for (int i = 2; i < count; i++) {
        size_t at = 0, all = sizeof table / sizeof *table;
        while (at < all && strcmp(table[at].name, arguments[i]) != 0) at++;
        if (at == all || (table[at].kind != flag && i + 1 == count)) wrong("no option, or without its value", arguments[i]);
        set(&options, &table[at], table[at].kind == flag ? NULL : arguments[++i]);
    }
    if (options.port == 0) wrong("missing", "--port");
    signal(SIGPIPE, SIG_IGN);
    network_from(options.from);
    return (*mode)->run(&options);
}
