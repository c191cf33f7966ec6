// Intents over a fleet for a while, and what they cost.
#pragma once

#include "fleet.h"
#include "report.h"

enum { measured_figures = 12 };

typedef struct {
    uint64_t empty_kib, open_kib, end_kib, latest_ns;
    double started, ended, accepted, generator_cpu, server_cpu;
} measurement;

/// Warms up, measures, and waits for the last answers. Before it, `empty_kib` is the caller's.
void measure(measurement *measurement, fleet *fleet, const options *options);

/// Its figures, `measured_figures` of them.
void measure_figures(const measurement *measurement, unsigned streams, figure figures[]);
