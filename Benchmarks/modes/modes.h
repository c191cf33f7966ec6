// What the load tool can do for script/bench.
#pragma once

#include "../loadgen/options.h"

extern const mode fanout_mode, storm_mode;
