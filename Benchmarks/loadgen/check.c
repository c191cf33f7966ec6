#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { in_order, duplicate, late } arrival;

// `gap` gets how many numbers were skipped to come to this one.
static arrival sequence_take(sequence *s, uint64_t number, uint64_t *gap) {
    *gap = 0;
    if (number > s->last) {
        uint64_t step = number - s->last;
        *s = (sequence){number, step >= 64 ? 1 : (s->seen << step) | 1};
        *gap = step - 1;
        return in_order;
    }
    uint64_t back = s->last - number;
    if (back >= 64 || (s->seen >> back & 1)) return duplicate;
    s->seen |= 1ull << back;
    return late;
}

static int64_t milestone_of(int64_t count) { return count / 10; }

#define VIOLATION(format, ...) tally_violation(tally, "session %u: " format, checker->session->index, ##__VA_ARGS__)
#define TEXT(json) (int)(json).length, (json).bytes

bool read_cursor(const char *epoch, json cursor, uint64_t *number) {
    size_t length = strlen(epoch);
    int64_t value;
    if (cursor.length < length + 2 || memcmp(cursor.bytes, epoch, length) != 0 || cursor.bytes[length] != '.'
        || !json_integer((json){cursor.bytes + length + 1, cursor.length - length - 1}, &value) || value < 0) return false;
    *number = (uint64_t)value;
    return true;
}

bool read_label_id(const char *epoch, json id, uint64_t *turn, uint64_t *number) {
    const char *dot = memrchr(id.bytes, '.', id.length);
    size_t length = dot ? (size_t)(dot - id.bytes) : 0;
    return dot && read_cursor(epoch, (json){id.bytes, length}, turn)
        && json_integer((json){dot + 1, id.length - length - 1}, (int64_t *)number);
}

static void take_hello(checker *checker, tally *tally, const sse_event *event) {
    json session, epoch, cursor, resumed, features;
    int64_t heartbeat;
    if (!json_read(
            event->data, "session:s epoch:s resumed:j cursor:s heartbeat:i features:j", &session, &epoch, &resumed,
            &cursor, &heartbeat, &features) || epoch.length >= sizeof checker->epoch || features.bytes[0] != '[') {
        VIOLATION("not a hello: %.*s", TEXT(event->data));
        return;
    }
    memcpy(checker->epoch, epoch.bytes, epoch.length);
    if (!json_equals(session, checker->session->id)) VIOLATION("hello names another session");
    if (event->id.length != cursor.length || memcmp(event->id.bytes, cursor.bytes, cursor.length) != 0
        || !read_cursor(checker->epoch, cursor, &checker->last_id)) {
        VIOLATION("hello's id is not its cursor, or not of its epoch");
    }
}

static void take_id(checker *checker, tally *tally, json id) {
    uint64_t number;
    if (!read_cursor(checker->epoch, id, &number)) {
        VIOLATION("an id '%.*s' that is not of the hello's epoch", TEXT(id));
        return;
    }
    // The first states may carry the cursor that hello did: nothing has happened in between.
    if (number < checker->last_id || (number == checker->last_id && checker->started && !checker->after_reset)) {
        VIOLATION("the id %.*s does not grow", TEXT(id));
    }
    checker->last_id = number;
}

// Each intent adds one, so counts come without gaps. Versions do only in sessions whose only turns are those of this
// feature's intents: a version is the number of its session's turn, and another feature's turns, or work of its own, take
// numbers that leave the count as it is (Trials/clients/history.c reads such sessions).
static bool is_beside(const checker *checker, int64_t version, int64_t count) {
    return !checker->alone || count - checker->first_count == version - (int64_t)checker->first_version;
}

static void take_state(checker *checker, tally *tally, const sse_event *event, const uint64_t *shown_ns) {
    json feature, intent;
    int64_t version, count;
    if (!json_read(event->data, "feature:s version:i intent?s state.count:i", &feature, &version, &intent, &count)
        || !json_equals(feature, checker->session->feature)) {
        VIOLATION("not a state of %s: %.*s", checker->session->feature, TEXT(event->data));
        return;
    }
    tally->states++;
    checker->intent = intent.bytes ? hash_bytes(intent.bytes, intent.length) : 0;
    if (!checker->started) {
        checker->started = true;
        checker->first_version = checker->version = (uint64_t)version;
        checker->first_count = count;
        checker->counts = (sequence){(uint64_t)count, 1};
        checker->milestones = (sequence){(uint64_t)milestone_of(count), 1};
        return;
    }
    if (!is_beside(checker, version, count)) VIOLATION("version %lld shows count %lld", (long long)version, (long long)count);
    if (checker->after_reset && (uint64_t)version == checker->version) return;
    uint64_t gap;
    switch (sequence_take(&checker->counts, (uint64_t)count, &gap)) {
    case in_order:
        if ((uint64_t)version <= checker->version) VIOLATION("version %lld does not grow", (long long)version);
        checker->version = (uint64_t)version;
        tally->skipped += gap;
        checker->skipped += gap;
        break;
    case duplicate: tally->duplicated++; return;
    case late:
        tally->reordered++;
        tally->skipped--;
        break;
    }
    if (!intent.bytes) VIOLATION("version %lld names no intent", (long long)version);
    if (shown_ns) session_shown(checker->session, tally, (uint64_t)version, checker->intent, *shown_ns);
}

static void take_label(checker *checker, tally *tally, const sse_event *event) {
    json feature, id, intent, replay, type;
    int64_t version, count;
    if (!json_read(
            event->data, "feature:s version:i intent:s id:s replay:j label.type:s label.count:i", &feature, &version,
            &intent, &id, &replay, &type, &count)
        || !json_equals(feature, checker->session->feature) || !json_equals(type, "milestone")) {
        VIOLATION("not a milestone of %s: %.*s", checker->session->feature, TEXT(event->data));
        return;
    }
    tally->labels++;
    if (!json_equals(replay, "false")) tally->replayed++;
    if (!checker->started || (uint64_t)version > checker->version) {
        VIOLATION("the label of version %lld comes before its state", (long long)version);
    } else if ((uint64_t)version == checker->version && hash_bytes(intent.bytes, intent.length) != checker->intent) {
        VIOLATION("the label of version %lld names another intent than its state", (long long)version);
    }
    if (count % 10 != 0 || !is_beside(checker, version, count)) {
        VIOLATION("a milestone of %lld at version %lld", (long long)count, (long long)version);
    }
    uint64_t turn = 0, number = 0, stream_id = 0, gap;
    if (!read_label_id(checker->epoch, id, &turn, &number)) {
        VIOLATION("a label's id is '%.*s', not <epoch>.<seq>.<n>", TEXT(id));
    } else if (!read_cursor(checker->epoch, event->id, &stream_id) || stream_id < turn) {
        VIOLATION("the only label of a turn comes without that turn's cursor");
    }
    switch (sequence_take(&checker->milestones, (uint64_t)milestone_of(count), &gap)) {
    case in_order:
        *(checker->labels_lost ? &tally->labels_lost : &tally->labels_missing) += gap;
        checker->labels_lost = false;
        if (turn < checker->label_sequence || (turn == checker->label_sequence && number <= checker->label_number)) {
            VIOLATION("the label id %.*s does not grow", TEXT(id));
        }
        checker->label_sequence = turn;
        checker->label_number = number;
        break;
    case duplicate: tally->labels_duplicated++; break;
    case late:
        tally->labels_reordered++;
        tally->labels_missing--;
        break;
    }
}

static void take_reset(checker *checker, tally *tally, const sse_event *event) {
    json reason, lost;
    tally->resets++;
    if (!json_read(event->data, "reason:j labelsLost:j", &reason, &lost)) {
        VIOLATION("not a reset: %.*s", TEXT(event->data));
        return;
    }
    checker->after_reset = true;
    if (json_equals(lost, "true")) checker->labels_lost = true;
}

static void check_event(checker *checker, tally *tally, const sse_event *event, const uint64_t *shown_ns) {
    bool is_hello = json_equals(event->event, "hello");
    if (!checker->hello) {
        checker->hello = true;
        if (is_hello) return take_hello(checker, tally, event);
        VIOLATION("the first event is '%.*s', not hello", TEXT(event->event));
    }
    if (event->id.bytes) take_id(checker, tally, event->id);
    if (json_equals(event->event, "state")) {
        take_state(checker, tally, event, shown_ns);
        checker->after_reset = false;
    } else if (json_equals(event->event, "label")) {
        take_label(checker, tally, event);
    } else if (json_equals(event->event, "ping")) {
        tally->pings++;
    } else if (json_equals(event->event, "reset")) {
        take_reset(checker, tally, event);
    } else if (json_equals(event->event, "goaway")) {
        tally->goaways++;
    } else {
        VIOLATION("an event named '%.*s'", TEXT(event->event));
    }
}

static void take_event(stream *stream, const sse_event *event) {
    viewer *self = (viewer *)stream;
    const uint64_t *shown_ns = self->measured ? &stream->connection.read_ns : NULL;
    if (self->count == 1) return check_event(self->checkers, stream->tally, event, shown_ns);
    json feature = {0};
    bool is_hello = !self->checkers[0].hello, taken = false;
    bool named = json_read(event->data, "feature:s", &feature);
    for (unsigned i = 0; i < self->count; i++) {
        // What is no feature's own is the first one's.
        if (!is_hello && !(named ? json_equals(feature, self->checkers[i].session->feature) : i == 0)) continue;
        check_event(&self->checkers[i], stream->tally, event, shown_ns);
        taken = true;
    }
    if (!taken) tally_violation(stream->tally, "an event of a feature that the stream does not show");
}

void viewer_open(viewer *viewer, session *topics, unsigned count, tally *tally) {
    buffer path = {0};
    viewer->checkers = allocate(count, sizeof *viewer->checkers);
    viewer->count = count;
    for (unsigned i = 0; i < count; i++) {
        viewer->checkers[i].session = &topics[i];
        viewer->checkers[i].alone = count == 1;
        buffer_print(&path, "%s=%s", i ? "&feature" : "/events?feature", topics[i].feature);
    }
    viewer->stream.session = topics;
    viewer->stream.tally = tally;
    viewer->stream.event = take_event;
    stream_open(&viewer->stream, count > 1 ? path.bytes : NULL, NULL);
    buffer_free(&path);
}

bool viewer_started(const viewer *viewer) {
    unsigned started = 0;
    while (started < viewer->count && viewer->checkers[started].started) started++;
    return started == viewer->count || viewer->stream.finished;
}

// The milestones up to the newest state that were not shown.
static uint64_t owed(const checker *checker) {
    uint64_t all = (uint64_t)milestone_of((int64_t)checker->counts.last);
    return all > checker->milestones.last ? all - checker->milestones.last : 0;
}

bool viewer_complete(const viewer *viewer) {
    if (viewer->stream.finished) return true;
    for (unsigned i = 0; i < viewer->count; i++) {
        const checker *checker = &viewer->checkers[i];
        if (!checker->started || checker->version < checker->session->answered_version) return false;
        if (!checker->labels_lost && owed(checker)) return false;
    }
    return true;
}

static void check_finish(checker *checker, tally *tally) {
    uint64_t answered = checker->session->answered_version, shown = checker->version;
    if (!checker->started) {
        VIOLATION("its stream never showed a state");
        return;
    }
    if (shown < answered) {
        // The newest state is owed to every stream, whatever it skipped on the way.
        VIOLATION("the newest state shown is version %llu, the newest answered %llu", (u64)shown, (u64)answered);
        tally->skipped++;
    }
    *(checker->labels_lost ? &tally->labels_lost : &tally->labels_missing) += owed(checker);
}

void viewer_finish(viewer *viewer) {
    for (unsigned i = 0; i < viewer->count; i++) check_finish(&viewer->checkers[i], viewer->stream.tally);
}

void viewer_close(viewer *viewer) {
    stream_close(&viewer->stream);
    free(viewer->checkers);
}
