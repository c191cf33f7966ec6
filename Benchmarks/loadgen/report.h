// The end of a run, in words and as a file.
#pragma once

#include "options.h"
#include "tally.h"

/// A figure of the run besides the tally's.
typedef struct {
    const char *name;
    double value;
    const char *unit;
} figure;

/// Prints the figures, the tally and the verdict, writes --json, and returns the exit code.
int report(const options *options, const tally *tally, const figure figures[], unsigned count, bool passed);

/// Seconds of processor that this process has used.
double own_cpu_seconds(void);
