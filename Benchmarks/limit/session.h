// Sessions, their stores, labels and streams. A turn and what it shows are one step under the session's lock.
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "text.h"

enum { kept_labels = 64, feature_room = 48 };

typedef struct stream stream;

typedef struct {
    char feature[feature_room];
    int64_t count;
    uint64_t version;
    char intent[17];
    /// The state's JSON after the count.
    char *rest;
    size_t rest_length;
} store;

typedef struct {
    unsigned store;
    int64_t count;
    uint64_t version, sequence;
    char intent[17];
} label;

typedef struct {
    pthread_mutex_t lock;
    char id[17], token[65], epoch[17];
    uint64_t sequence;
    store *stores;
    label *labels;
    stream **streams;
    unsigned store_count, label_count, label_room, next_label, stream_count;
} session;

struct stream {
    session *session;
    int fd;
    /// Bit i: shows store i.
    uint64_t shows;
    bool quiet;
    /// What the socket did not take.
    text backlog;
};

session *session_make(void);

/// By its token; null where there is none. Takes no lock.
session *session_find(const char *token, size_t length);

/// Calls `visit` with every session.
void session_each(void (*visit)(session *session));

/// The store of that feature, made if need be; -1 where there is no such feature. The lock is held.
int session_store(session *session, const char *feature, size_t length);

/// Adds, and appends to `events` what its streams must be shown. The lock is held.
void session_add(session *session, store *store, int64_t amount, text *events);

/// Appends the first batch of a stream that shows these stores. `last_event_id`: null for none. The lock is held.
void session_open(session *session, const unsigned stores[], unsigned count, const char *last_event_id, text *events);
