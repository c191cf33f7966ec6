#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// C functions that Swift cannot call or express: variadic functions, a `va_list`, headers that Glibc's module omits.
// Nothing else belongs here.

/// Receives one line of the library's log. `message` is NUL-terminated and valid during the call.
typedef void (*cmhd_log_sink)(void *_Nullable context, const char *_Nonnull message);

/// The destination of the log. Owned by the caller, who keeps it alive until `MHD_stop_daemon` has returned.
struct cmhd_log {
    cmhd_log_sink _Nonnull sink;
    void *_Nullable context;
};

/// The settings of `cmhd_start`. `context` is passed to each callback, unowned.
struct cmhd_settings {
    const struct cmhd_log *_Nonnull log;
    void *_Nullable context;
    MHD_AccessHandlerCallback _Nonnull handler;
    void *_Nullable (*_Nonnull target)(void *_Nullable context, const char *_Nonnull target,
                                       struct MHD_Connection *_Nonnull connection);
    MHD_RequestCompletedCallback _Nonnull completed;
    MHD_NotifyConnectionCallback _Nonnull connection;
    unsigned int connection_limit;
    unsigned int timeout_seconds;
    size_t memory_limit;
};

/// The library's logger passes a `va_list`, which Swift cannot take.
static inline void cmhd_log_line(void *_Nullable context, const char *_Nonnull format, va_list arguments) {
    const struct cmhd_log *log = (const struct cmhd_log *)context;
    char line[512];
    if (vsnprintf(line, sizeof line, format, arguments) >= 0) log->sink(log->context, line);
}

/// Keeps percent-encoding: decoding before routing makes `%2F` a slash and cuts at `%00`.
static inline size_t cmhd_keep_escapes(void *_Nullable context, struct MHD_Connection *_Nullable connection,
                                       char *_Nonnull text) {
    (void)context;
    (void)connection;
    size_t length = 0;
    while (text[length] != 0) length++;
    return length;
}

/// Glibc's module omits it.
int accept4(int listener, struct sockaddr *_Nullable address, socklen_t *_Nullable length, int flags);

/// Empties the query in the library's memory, which is not const, after we have copied it. Only in the target callback.
///
/// 0.9 parses the query after that, with 56 bytes of the connection's memory for each argument. If the memory is used
/// up it queues 431, continues, and then spins without sending until the timeout.
static inline void cmhd_empty_query(const char *_Nonnull target) {
    char *mark = (char *)target;
    while (*mark != 0 && *mark != '?') mark++;
    if (*mark == '?') mark[1] = 0;
}

/// `MHD_start_daemon` is variadic.
///
/// epoll without the library's threads: one of ours runs it, so that a request can wait without being suspended. No
/// listening socket: the library cannot safely stop accepting. TURBO closes without `shutdown()`, which leaves a
/// handed-over socket open. Strictness 0 is explicit: above it the library answers in HTML or cuts without a response;
/// all of its checks are repeated in Swift, where the refusal can be a proper response.
static inline struct MHD_Daemon *_Nullable cmhd_start(const struct cmhd_settings *_Nonnull settings) {
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET,
        0, NULL, NULL, settings->handler, settings->context,
        MHD_OPTION_EXTERNAL_LOGGER, &cmhd_log_line, (void *)settings->log,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings->memory_limit,
        MHD_OPTION_CONNECTION_LIMIT, settings->connection_limit,
        MHD_OPTION_CONNECTION_TIMEOUT, settings->timeout_seconds,
        MHD_OPTION_STRICT_FOR_CLIENT, 0,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_UNESCAPE_CALLBACK, &cmhd_keep_escapes, NULL,
        MHD_OPTION_URI_LOG_CALLBACK, settings->target, settings->context,
        MHD_OPTION_NOTIFY_COMPLETED, settings->completed, settings->context,
        MHD_OPTION_NOTIFY_CONNECTION, settings->connection, settings->context, MHD_OPTION_END);
}

/// `MHD_get_daemon_info` is variadic. The daemon's epoll descriptor, which is ready when `MHD_run` has work; -1 if it
/// has none.
static inline int cmhd_epoll(struct MHD_Daemon *_Nonnull daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info == NULL ? -1 : info->epoll_fd;
}

/// `MHD_get_connection_info` is variadic. The connection's socket, owned by the library; -1 if it has none.
static inline int cmhd_socket(struct MHD_Connection *_Nonnull connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

/// `MHD_get_connection_info` is variadic. The size of the request's head, from the method to the end of the empty line.
static inline size_t cmhd_head_size(struct MHD_Connection *_Nonnull connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info == NULL ? 0 : info->header_size;
}

/// `MHD_get_connection_info` is variadic. The connection's own context.
static inline void *_Nullable cmhd_socket_context(struct MHD_Connection *_Nonnull connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

/// `MHD_get_connection_info` is variadic. The peer's address, owned by the connection.
static inline const struct sockaddr *_Nullable cmhd_peer(struct MHD_Connection *_Nonnull connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info == NULL ? NULL : info->client_addr;
}

/// `MHD_CONTENT_READER_END_WITH_ERROR` is a cast, which Swift does not import: the library closes its descriptor and
/// writes nothing more.
static inline ssize_t cmhd_end_with_error(void) { return MHD_CONTENT_READER_END_WITH_ERROR; }

#endif
