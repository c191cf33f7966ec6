// What the load tool can do for script/trial.
#pragma once

#include "../../Benchmarks/loadgen/options.h"

extern const mode vanish_mode, slow_mode, survive_mode, guests_mode, flood_mode, hold_mode;
