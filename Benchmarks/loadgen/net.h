// Sockets and the one event loop.
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/// Something the loop watches. Embedded first in what it belongs to.
typedef struct source source;
struct source {
    void (*ready)(source *source, uint32_t events);
    int fd;
};

typedef struct {
    struct sockaddr_in server;
    /// How many of 127.0.0.2, 127.0.0.3, … connections come from, one after the other; 0: the kernel's choice.
    unsigned source_addresses;
    unsigned next_source;
    int epoll;
} network;

/// Resolves nothing: `host` is a dotted address. Ends the process if it is not, or is not on this machine.
void network_open(network *network, const char *host, uint16_t port);

/// Raises the open-files limit as far as it goes and ends the process if that is below `needed`.
void require_files(uint64_t needed);

typedef enum { ordinary_socket, narrow_socket } socket_kind;

/// Starts connecting without waiting. A narrow socket takes a few KiB and no more while nobody reads it: small
/// segments and a small receive buffer keep the server's own send buffer small too. Returns -1 when it cannot.
int network_connect(network *network, socket_kind kind);

/// Watches for `events` (EPOLLIN, …), level-triggered.
void network_watch(network *network, source *source, uint32_t events);
void network_change(network *network, source *source, uint32_t events);

/// Stops watching and closes; `abruptly` sends RST instead of FIN.
void network_close(source *source, bool abruptly);

/// Handles what is ready, waiting at most until `deadline_ns` (monotonic) for it.
void network_turn(network *network, uint64_t deadline_ns);
