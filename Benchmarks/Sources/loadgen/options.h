// The command line.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum { mode_load, mode_vanish, mode_slow, mode_survive } run_mode;

typedef struct {
    run_mode mode;
    const char *host, *json, *keep, *tokens;
    uint16_t port;
    uint64_t seed;
    unsigned streams, connections, clients, rounds, sessions;
    double rate, seconds, warmup, drain;
    bool may_conflate, expect_overflow;
} options;

/// Ends the process with 2 and the usage if the arguments are wrong, with 0 for --help.
options options_parse(int count, char *arguments[]);
