// The command line.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum { mode_load, mode_vanish, mode_slow, mode_survive, mode_fanout, mode_storm, mode_multiplex } run_mode;

typedef struct {
    run_mode mode;
    const char *host, *json, *keep, *tokens, *feature;
    uint16_t port;
    uint64_t seed;
    unsigned streams, connections, clients, rounds, sessions, active, features, at_once, pid;
    double rate, seconds, warmup, drain;
    bool may_conflate, expect_overflow, nchan;
} options;

/// Ends the process with 2 and the usage if the arguments are wrong, with 0 for --help.
options options_parse(int count, char *arguments[]);
