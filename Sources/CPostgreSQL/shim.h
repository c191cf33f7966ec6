#pragma once

// Where it lies is pkg-config's to say (libpq).
#include <libpq-fe.h>
