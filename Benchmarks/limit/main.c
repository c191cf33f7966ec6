// What libmicrohttpd allows on this machine: the benchmark's work with nothing around it. It parses the token, counts,
// formats the answer and the event, and hands each stream's socket over to its own loop. No journal, no receipts, no
// limits, no features but one: what a server built on the library can at most reach.
//
//   limit PORT [THREADS]       a daemon thread for each core unless said otherwise
#include <arpa/inet.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../loadgen/json.h"
#include "reactor.h"

enum { body_room = 1024, most_features = 64 };

typedef struct request {
    size_t length;
    char body[body_room];
} request;

/// Of an answer, and of a stream.
static const char *const answer_fields[][2] = {
    {"Content-Type", "application/json"}, {"Cache-Control", "no-store"},
    {"Vary", "Authorization, Cookie, Origin, Prefer"}, {"X-Content-Type-Options", "nosniff"}, {NULL, NULL},
}, *const stream_fields[][2] = {
    {"Connection", "close"}, {"Content-Type", "text/event-stream; charset=utf-8"},
    {"Cache-Control", "no-store, no-transform"}, {"X-Accel-Buffering", "no"},
    {"Vary", "Authorization, Cookie, Origin"}, {"X-Content-Type-Options", "nosniff"}, {NULL, NULL},
};

static struct MHD_Response *with(struct MHD_Response *response, const char *const fields[][2]) {
    for (; **fields; fields++) MHD_add_response_header(response, fields[0][0], fields[0][1]);
    return response;
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const text *body) {
    struct MHD_Response *response =
        with(MHD_create_response_from_buffer(body->length, body->bytes, MHD_RESPMEM_MUST_COPY), answer_fields);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status) {
    static const text body = {"{}", 2, 2};
    return answer(connection, status, &body);
}

static enum MHD_Result make_session(struct MHD_Connection *connection) {
    session *made = session_make();
    text body = {0};
    text_strings(
        &body,
        "{\"id\":\"", made->id, "\",\"token\":\"", made->token, "\",\"expiresAt\":\"2100-01-01T00:00:00Z\"}", NULL);
    enum MHD_Result result = answer(connection, MHD_HTTP_CREATED, &body);
    free(body.bytes);
    return result;
}

static session *session_of(struct MHD_Connection *connection) {
    const char *field;
    size_t length;
    if (MHD_lookup_connection_value_n(connection, MHD_HEADER_KIND, "Authorization", 13, &field, &length) != MHD_YES
        || length < 7 || memcmp(field, "Bearer ", 7) != 0) {
        return NULL;
    }
    return session_find(field + 7, length - 7);
}

static enum MHD_Result take_intent(
    struct MHD_Connection *connection, session *session, const char *feature, size_t length, const request *request
) {
    // Each thread's own, so that formatting allocates nothing.
    static _Thread_local text events, body;
    json type;
    int64_t amount;
    if (!json_read((json){request->body, request->length}, "type:s amount:i", &type, &amount)
        || !json_equals(type, "add")) return refuse(connection, 422);
    events.length = body.length = 0;
    pthread_mutex_lock(&session->lock);
    int index = session_store(session, feature, length);
    if (index >= 0) {
        store *store = &session->stores[index];
        session_add(session, store, amount, &events);
        reactor_show(session, (unsigned)index, &events);
        text_strings(
            &body, "{\"intent\":\"", store->intent, "\",\"session\":\"", session->id, "\",\"feature\":\"", NULL);
        buffer_append(&body, feature, length);
        text_strings(&body, "\",\"version\":", NULL);
        text_number(&body, (int64_t)store->version);
        text_strings(&body, "}", NULL);
    }
    pthread_mutex_unlock(&session->lock);
    return index >= 0 ? answer(connection, MHD_HTTP_ACCEPTED, &body) : refuse(connection, 404);
}

typedef struct opening {
    struct MHD_Connection *connection;
    session *session;
    unsigned stores[most_features], count;
} opening;

// The head is out: the socket is duplicated and the library lets go of its own descriptor. In turbo mode it closes that
// without a shutdown, so the connection lives on.
static ssize_t hand_over(void *context, uint64_t position, char *buffer, size_t room) {
    (void)position, (void)buffer, (void)room;
    opening *opening = context;
    session *session = opening->session;
    int fd = dup(MHD_get_connection_info(opening->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
    if (fd < 0) fail("dup: %m");
    const char *last = MHD_lookup_connection_value(opening->connection, MHD_HEADER_KIND, "Last-Event-ID");
    uint64_t shows = 0;
    for (unsigned i = 0; i < opening->count; i++) shows |= 1ull << opening->stores[i];
    text events = {0};
    pthread_mutex_lock(&session->lock);
    session_open(session, opening->stores, opening->count, last, &events);
    reactor_add(session, fd, shows, &events);
    pthread_mutex_unlock(&session->lock);
    free(events.bytes);
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

static bool add_feature(opening *opening, const char *feature, size_t length) {
    int index = opening->count < most_features ? session_store(opening->session, feature, length) : -1;
    if (index >= 0) opening->stores[opening->count++] = (unsigned)index;
    return index >= 0;
}

static enum MHD_Result take_query(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
    (void)kind;
    if (strcmp(name, "feature") != 0) return MHD_YES;
    return add_feature(context, value, strlen(value)) ? MHD_YES : MHD_NO;
}

static enum MHD_Result open_stream(
    struct MHD_Connection *connection, session *session, const char *feature, size_t length
) {
    opening *opening = allocate(1, sizeof *opening);
    opening->connection = connection;
    opening->session = session;
    pthread_mutex_lock(&session->lock);
    if (feature) add_feature(opening, feature, length);
    else MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_query, opening);
    pthread_mutex_unlock(&session->lock);
    if (opening->count == 0) {
        free(opening);
        return refuse(connection, 404);
    }
    struct MHD_Response *response =
        with(MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, hand_over, opening, free), stream_fields);
    // A connection that ended so is cleaned up when its thread next walks the list it is in: soon where it has a timeout
    // of its own, but in the common list only behind connections that are idle for longer.
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 1u);
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

static bool ends_with(const char *url, size_t length, const char *end) {
    size_t end_length = strlen(end);
    return length > end_length && memcmp(url + length - end_length, end, end_length) == 0;
}

static enum MHD_Result handle(
    void *unused, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
    const char *upload, size_t *upload_length, void **context
) {
    (void)unused, (void)version;
    request *request = *context;
    if (!request) {
        *context = malloc(sizeof *request);
        if (!*context) return MHD_NO;
        ((struct request *)*context)->length = 0;
        return MHD_YES;
    }
    if (*upload_length > 0) {
        if (*upload_length > body_room - request->length) return MHD_NO;
        memcpy(request->body + request->length, upload, *upload_length);
        request->length += *upload_length;
        *upload_length = 0;
        return MHD_YES;
    }
    bool posts = strcmp(method, "POST") == 0;
    if (posts && strcmp(url, "/sessions") == 0) return make_session(connection);
    if (strcmp(url, "/health/ready") == 0) return refuse(connection, 200);
    session *session = session_of(connection);
    if (!session) return refuse(connection, 401);
    size_t length = strlen(url);
    if (!posts && strcmp(url, "/events") == 0) return open_stream(connection, session, NULL, 0);
    if (strncmp(url, "/features/", 10) != 0) return refuse(connection, 404);
    if (posts && ends_with(url + 10, length - 10, "/intents")) {
        return take_intent(connection, session, url + 10, length - 18, request);
    }
    if (!posts && ends_with(url + 10, length - 10, "/events")) {
        return open_stream(connection, session, url + 10, length - 17);
    }
    return refuse(connection, 404);
}

static void completed(
    void *unused, struct MHD_Connection *connection, void **context, enum MHD_RequestTerminationCode code
) {
    (void)unused, (void)connection, (void)code;
    free(*context);
}

static void be_quiet(void *unused, const char *format, va_list arguments) {
    (void)unused, (void)format, (void)arguments;
}

int main(int count, char *arguments[]) {
    if (count < 2) {
        fputs("usage: limit PORT [THREADS]\n", stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    pthread_sigmask(SIG_BLOCK, &stops, NULL);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    unsigned threads = count > 2 ? (unsigned)atoi(arguments[2]) : (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    reactor_start();
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO | MHD_USE_ERROR_LOG, 0, NULL, NULL, handle, NULL,
        MHD_OPTION_EXTERNAL_LOGGER, be_quiet, NULL, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, 38000u,
        MHD_OPTION_LISTEN_BACKLOG_SIZE, 4096u, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
        threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, threads, MHD_OPTION_END);
    if (!daemon) fail("the daemon did not start");
    int received;
    sigwait(&stops, &received);
    return 0;
}
