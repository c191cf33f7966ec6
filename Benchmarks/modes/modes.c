#include "modes.h"

#include <stddef.h>

const mode *const modes[] = {&load_mode, &fanout_mode, &storm_mode, NULL};
