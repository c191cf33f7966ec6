#include "session.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

// Sessions are never removed, so that a slot once set stays; readers need no lock.
enum { slots = 1 << 18 };
static _Atomic(session *) table[slots];

static size_t slot_of(const char *token) {
    uint64_t word;
    memcpy(&word, token, sizeof word);
    return (size_t)(word * 0x9e3779b97f4a7c15u >> 46);
}

session *session_make(void) {
    session *made = allocate(1, sizeof *made);
    pthread_mutex_init(&made->lock, NULL);
    random_digits(made->id, 8);
    random_digits(made->token, 32);
    random_digits(made->epoch, 8);
    for (size_t slot = slot_of(made->token);; slot = (slot + 1) % slots) {
        session *expected = NULL;
        if (atomic_compare_exchange_strong(&table[slot], &expected, made)) return made;
    }
}

session *session_find(const char *token, size_t length) {
    if (length != 64) return NULL;
    for (size_t slot = slot_of(token);; slot = (slot + 1) % slots) {
        session *found = atomic_load_explicit(&table[slot], memory_order_acquire);
        if (!found || memcmp(found->token, token, 64) == 0) return found;
    }
}

void session_each(void (*visit)(session *session)) {
    for (size_t slot = 0; slot < slots; slot++) {
        session *found = atomic_load_explicit(&table[slot], memory_order_acquire);
        if (found) visit(found);
    }
}

static void make_rest(store *store, size_t text_length) {
    text rest = {0};
    text_strings(&rest, ",\"isLoading\":false", NULL);
    if (text_length) {
        text_strings(&rest, ",\"text\":\"", NULL);
        for (size_t i = 0; i < text_length; i++) buffer_append(&rest, "x", 1);
        text_strings(&rest, "\"", NULL);
    }
    text_strings(&rest, "}", NULL);
    store->rest = rest.bytes;
    store->rest_length = rest.length;
}

int session_store(session *session, const char *feature, size_t length) {
    for (unsigned i = 0; i < session->store_count; i++) {
        const char *name = session->stores[i].feature;
        if (memcmp(name, feature, length) == 0 && name[length] == 0) return (int)i;
    }
    size_t text_length = 0;
    if (length >= feature_room || session->store_count == 64) return -1;
    if (length > 6 && memcmp(feature, "sized:", 6) == 0) {
        long bytes = strtol(feature + 6, NULL, 10);
        if (bytes < 64 || bytes > 1 << 20) return -1;
        text_length = (size_t)bytes - 45;
    } else if (length != 7 || memcmp(feature, "counter", 7) != 0) {
        return -1;
    }
    unsigned index = session->store_count++;
    session->stores = realloc(session->stores, session->store_count * sizeof *session->stores);
    if (!session->stores) fail("out of memory");
    store *made = &session->stores[index];
    *made = (store){.version = 1};
    memcpy(made->feature, feature, length);
    make_rest(made, text_length);
    return (int)index;
}

static void append_id(const session *session, uint64_t sequence, text *events) {
    text_strings(events, "id: ", session->epoch, ".", NULL);
    text_number(events, (int64_t)sequence);
    text_strings(events, "\n", NULL);
}

static void append_head(const store *store, uint64_t version, const char *intent, text *events) {
    text_strings(events, "\ndata: {\"feature\":\"", store->feature, "\",\"version\":", NULL);
    text_number(events, (int64_t)version);
    if (intent[0]) {
        text_strings(events, ",\"intent\":\"", intent, "\"", NULL);
    }
}

static void append_state(const store *store, text *events) {
    text_strings(events, "event: state", NULL);
    append_head(store, store->version, store->intent, events);
    text_strings(events, ",\"state\":{\"count\":", NULL);
    text_number(events, store->count);
    buffer_append(events, store->rest, store->rest_length);
    text_strings(events, "}\n\n", NULL);
}

static void append_label(const session *session, const label *label, uint64_t id, bool replay, text *events) {
    append_id(session, id, events);
    text_strings(events, "event: label", NULL);
    append_head(&session->stores[label->store], label->version, label->intent, events);
    text_strings(events, ",\"id\":\"", session->epoch, ".", NULL);
    text_number(events, (int64_t)label->sequence);
    text_strings(
        events,
        replay ? ".0\",\"replay\":true" : ".0\",\"replay\":false", ",\"label\":{\"type\":\"milestone\",\"count\":",
        NULL);
    text_number(events, label->count);
    text_strings(events, "}}\n\n", NULL);
}

static void keep_label(session *session, const label *label) {
    if (session->label_count == session->label_room && session->label_room < kept_labels) {
        session->label_room = session->label_room ? 2 * session->label_room : 4;
        session->labels = realloc(session->labels, session->label_room * sizeof *session->labels);
        if (!session->labels) fail("out of memory");
    }
    session->labels[session->next_label % kept_labels] = *label;
    session->next_label++;
    if (session->label_count < kept_labels) session->label_count++;
}

void session_add(session *session, store *store, int64_t amount, text *events) {
    store->count += amount;
    store->version++;
    session->sequence++;
    random_digits(store->intent, 8);
    if (store->count != 0 && store->count % 10 == 0) {
        label milestone = {
            .store = (unsigned)(store - session->stores), .count = store->count, .version = store->version,
            .sequence = session->sequence,
        };
        memcpy(milestone.intent, store->intent, sizeof milestone.intent);
        keep_label(session, &milestone);
        append_state(store, events);
        append_label(session, &milestone, session->sequence, false, events);
    } else {
        append_id(session, session->sequence, events);
        append_state(store, events);
    }
}

// The sequence number of a cursor of this session, or the head.
static uint64_t start_of(const session *session, const char *cursor, bool *resumed) {
    *resumed = cursor && strncmp(cursor, session->epoch, 16) == 0 && cursor[16] == '.';
    uint64_t sequence = *resumed ? strtoull(cursor + 17, NULL, 10) : session->sequence;
    return sequence < session->sequence ? sequence : session->sequence;
}

void session_open(session *session, const unsigned stores[], unsigned count, const char *last_event_id, text *events) {
    bool resumed;
    uint64_t start = start_of(session, last_event_id, &resumed), shows = 0;
    text_strings(events, ": ok\nretry: 2750\n\n", NULL);
    append_id(session, start, events);
    text_strings(
        events, "event: hello\ndata: {\"session\":\"", session->id, "\",\"epoch\":\"", session->epoch,
        resumed ? "\",\"resumed\":true,\"cursor\":\"" : "\",\"resumed\":false,\"cursor\":\"", session->epoch, ".",
        NULL);
    text_number(events, (int64_t)start);
    text_strings(events, "\",\"heartbeat\":20,\"features\":[", NULL);
    for (unsigned i = 0; i < count; i++) {
        shows |= 1ull << stores[i];
        text_strings(events, i ? ",\"" : "\"", session->stores[stores[i]].feature, "\"", NULL);
    }
    text_strings(events, "]}\n\n", NULL);
    const label *replayed[kept_labels];
    unsigned replays = 0;
    for (unsigned i = session->next_label - session->label_count; i != session->next_label; i++) {
        const label *kept = &session->labels[i % kept_labels];
        if (kept->sequence > start && (shows >> kept->store & 1)) replayed[replays++] = kept;
    }
    for (unsigned i = 0; i < count; i++) {
        if (i == count - 1 && replays == 0) append_id(session, session->sequence, events);
        append_state(&session->stores[stores[i]], events);
    }
    for (unsigned i = 0; i < replays; i++) {
        append_label(session, replayed[i], i == replays - 1 ? session->sequence : replayed[i]->sequence, true, events);
    }
}
