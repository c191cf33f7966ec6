// The streams' sockets once libmicrohttpd has let go of them.
#pragma once

#include "session.h"

void reactor_start(void);

/// Takes the socket over and writes the first batch to it. `shows`: bit i for store i. The session's lock is held.
void reactor_add(session *session, int fd, uint64_t shows, const text *events);

/// Writes to the session's streams that show the store, on the calling thread. The session's lock is held.
void reactor_show(session *session, unsigned store, const text *events);
