// The runs. Each returns the process's exit code.
#pragma once

#include "options.h"

int run_load(const options *options);
int run_vanish(const options *options);
int run_slow(const options *options);
int run_survive(const options *options);
int run_fanout(const options *options);
int run_storm(const options *options);
int run_multiplex(const options *options);
