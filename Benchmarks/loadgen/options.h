// The command line, and what can be run by it.
#pragma once

#include <stdbool.h>

typedef struct {
    const char *json, *keep, *tokens, *feature, *parts;
    unsigned port, seed, streams, connections, clients, rounds, sessions, active, features, pid, from;
    double rate, seconds, warmup, drain;
    bool may_conflate, expect_overflow, nchan, proxied, networks;
} options;

typedef struct {
    const char *name, *summary;
    options defaults;
    /// Returns the process's exit code.
    int (*run)(const options *options);
} mode;

/// What this program has, ending in null: script/bench and script/trial each build it with modes of their own.
extern const mode *const modes[];

extern const mode load_mode;
