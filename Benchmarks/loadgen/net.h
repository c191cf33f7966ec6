// The one server, the one event loop, and connections from this to that.
#pragma once

#include "base.h"
#include "http.h"

typedef struct connection connection;

/// What becomes of a connection, told to whoever embeds it first in what it belongs to. Each may close it.
typedef struct {
    /// All that was to be sent is sent. May be null.
    void (*sent)(connection *connection);
    http_body_handler body;
    /// Bytes were taken, `unread` of them not because the response was whole before them.
    void (*read)(connection *connection, size_t unread);
    /// Nothing more comes; `broken`: because what came is no HTTP, else it was cut off.
    void (*ended)(connection *connection, const char *why, bool broken);
} connection_kind;

/// All zero but for `kind` is a closed one.
struct connection {
    const connection_kind *kind;
    http_response response;
    /// The request, which stays until there is another: it may be sent again.
    buffer out;
    size_t sent, received;
    /// Bytes that a read takes at most; 0: what there is.
    size_t room;
    uint64_t read_ns;
    int fd;
    bool open, writing;
    /// Takes a few KiB and no more while nobody reads it: small segments and a small receive buffer keep the server's
    /// own send buffer small too.
    bool narrow;
};

/// Connections go to this port of 127.0.0.1. `files`: how many will be needed; ends the process if they are not to be
/// had. `spread`: connections come from eight addresses, since one has 28,000 ports and each rests for a minute.
void network_start(unsigned port, uint64_t files, bool spread);

/// Connections from now on come from 127.0.0.`last`, so that the server counts them as another address's.
void network_from(unsigned last);

/// Handles what is ready, waiting at most until `deadline_ns` (monotonic) for it.
void network_turn(uint64_t deadline_ns);

/// Writes a request into `out`. `token`, `fields` (header lines) and `body` (JSON): null or empty for none.
void connection_ask(
    connection *connection, const char *method, const char *path, const char *token, const char *fields,
    const char *body);

/// Sends what `out` holds, connecting if need be; false if there is no way to connect.
bool connection_send(connection *connection);

/// Stops reading, and goes on; the kernel's buffers fill up meanwhile, then the server's.
void connection_pause(connection *connection, bool paused);

/// `abruptly` sends RST instead of FIN.
void connection_close(connection *connection, bool abruptly);
