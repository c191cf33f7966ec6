#include "modes.h"

#include <stddef.h>

const mode *const modes[] = {&load_mode, &vanish_mode, &slow_mode, &survive_mode, &guests_mode, &flood_mode, &hold_mode, NULL};
