// What the server's process has used and holds. Without a process (0) everything is 0.
#pragma once

#include "net.h"

/// Seconds of processor time of all its threads, the ended ones too, to the nanosecond.
double process_cpu_seconds(unsigned pid);

/// Resident memory; a kernel's exact count.
uint64_t process_rss_kib(unsigned pid);

/// The same half a second later, when what follows a burst of connections is done.
uint64_t process_settled_kib(unsigned pid, network *network);
