// Connections that send intents to one session's counter, each as soon as it is answered. No keys.
//
//   hot TOKEN CONNECTIONS SECONDS PORT...      prints figures as JSON; connections go to the ports in turn
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { most_samples = 400000 };

static char request[1024];
static size_t request_length;
static double end;

typedef struct {
    pthread_t thread;
    int port;
    unsigned statuses[600];
    // `lost`: without an answer. `unknown`: those of them, and those answered with 5xx, that may be committed.
    unsigned lost, unknown, count;
    float *seconds;
} poster;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int dial(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int link = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    struct timeval patience = {.tv_sec = 20};
    if (link < 0) return -1;
    setsockopt(link, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(link, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(link, (struct sockaddr *)&address, sizeof address) == 0) return link;
    close(link);
    return -1;
}

// The status of an answer that is read whole; 0 if there is none.
static int answer(int link, bool *closes) {
    char buffer[16384];
    size_t length = 0;
    for (;;) {
        ssize_t got = recv(link, buffer + length, sizeof buffer - 1 - length, 0);
        if (got <= 0) return 0;
        length += (size_t)got;
        buffer[length] = 0;
        char *body = strstr(buffer, "\r\n\r\n");
        if (!body) continue;
        char *size = strcasestr(buffer, "\r\nContent-Length:");
        size_t whole = (size_t)(body + 4 - buffer) + (size && size < body ? strtoul(size + 17, NULL, 10) : 0);
        if (whole >= sizeof buffer) return 0;
        if (length < whole) continue;
        char *connection = strcasestr(buffer, "\r\nConnection: close");
        *closes = connection && connection < body;
        return atoi(buffer + 9);
    }
}

static void *post(void *context) {
    poster *self = context;
    int link = -1;
    while (now() < end) {
        bool closes = false;
        if (link < 0 && (link = dial(self->port)) < 0) {
            usleep(50000);
            continue;
        }
        double began = now();
        int status = send(link, request, request_length, MSG_NOSIGNAL) == (ssize_t)request_length ? answer(link, &closes) : 0;
        if (status == 202) {
            if (self->count < most_samples) self->seconds[self->count++] = (float)(now() - began);
        } else {
            self->lost += status == 0;
            self->unknown += status == 0 || status >= 500;
        }
        self->statuses[status % 600]++;
        if (status == 0 || closes) {
            close(link);
            link = -1;
        }
        if (status >= 400) usleep(20000);
    }
    if (link >= 0) close(link);
    return NULL;
}

static int compare(const void *left, const void *right) {
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

int main(int count, char *arguments[]) {
    if (count < 5) return 2;
    unsigned posters = (unsigned)atoi(arguments[2]), total = 0, lost = 0, unknown = 0;
    const char body[] = "{\"type\":\"add\",\"amount\":1}";
    request_length = (size_t)snprintf(
        request, sizeof request,
        "POST /features/counter/intents HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        arguments[1], sizeof body - 1, body);
    end = now() + atof(arguments[3]);
    poster *all = calloc(posters, sizeof *all);
    if (!all || request_length >= sizeof request) return 2;
    for (unsigned i = 0; i < posters; i++) {
        all[i].port = atoi(arguments[4 + i % (unsigned)(count - 4)]);
        all[i].seconds = calloc(most_samples, sizeof(float));
        if (!all[i].seconds || pthread_create(&all[i].thread, NULL, post, &all[i]) != 0) return 2;
    }
    for (unsigned i = 0; i < posters; i++) {
        pthread_join(all[i].thread, NULL);
        total += all[i].count;
        lost += all[i].lost;
        unknown += all[i].unknown;
    }
    float *samples = calloc(total + 1, sizeof *samples);
    unsigned at = 0;
    if (!samples) return 2;
    for (unsigned i = 0; i < posters; i++) {
        memcpy(samples + at, all[i].seconds, all[i].count * sizeof *samples);
        at += all[i].count;
    }
    qsort(samples, total, sizeof *samples, compare);
    printf("{\"accepted\":%u,\"lost\":%u,\"unknown\":%u,\"statuses\":{", total, lost, unknown);
    const char *comma = "";
    for (int status = 0; status < 600; status++) {
        unsigned sum = 0;
        for (unsigned i = 0; i < posters; i++) sum += all[i].statuses[status];
        if (sum) printf("%s\"%d\":%u", comma, status, sum), comma = ",";
    }
    printf("},\"p50\":%f,\"p99\":%f,\"longest\":%f}\n", total ? samples[total / 2] : 0, total ? samples[total * 99 / 100] : 0,
           total ? samples[total - 1] : 0);
    return 0;
}
