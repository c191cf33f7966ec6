#include "check.h"

#include <stdlib.h>
#include <string.h>

typedef enum { in_order, duplicate, late } arrival;

// `gap` gets how many numbers were skipped to come to this one.
static arrival sequence_take(sequence *s, uint64_t number, uint64_t *gap) {
    *gap = 0;
    if (number > s->last) {
        uint64_t step = number - s->last;
        s->seen = step >= 64 ? 1 : (s->seen << step) | 1;
        s->last = number;
        *gap = step - 1;
        return in_order;
    }
    uint64_t back = s->last - number;
    if (back >= 64 || (s->seen >> back & 1)) return duplicate;
    s->seen |= 1ull << back;
    return late;
}

static int64_t milestone_of(int64_t count) {
    return count / 10;
}

#define VIOLATION(...) tally_violation(tally, "session %u: " __VA_ARGS__)

// Splits `<epoch>.<number>` and says whether the epoch is this stream's.
static bool read_cursor(const checker *checker, json cursor, uint64_t *number) {
    size_t epoch = strlen(checker->epoch);
    if (cursor.length < epoch + 2 || memcmp(cursor.bytes, checker->epoch, epoch) != 0 || cursor.bytes[epoch] != '.') {
        return false;
    }
    int64_t value;
    if (!json_integer((json){cursor.bytes + epoch + 1, cursor.length - epoch - 1}, &value) || value < 0) return false;
    *number = (uint64_t)value;
    return true;
}

static bool is_plain(json value, const char *text) {
    json plain;
    return json_plain_string(value, &plain) && json_equals(plain, text);
}

static void take_hello(checker *checker, session *session, tally *tally, const sse_event *event) {
    static const char *const names[] = {"session", "epoch", "resumed", "cursor", "heartbeat", "features"};
    json values[6], epoch, cursor;
    if (!json_equals(event->event, "hello")) {
        VIOLATION("the first event is '%.*s', not hello", session->index, (int)event->event.length, event->event.bytes);
        return;
    }
    if (!json_members(event->data, names, values, 6) || !json_plain_string(values[1], &epoch)
        || !json_plain_string(values[3], &cursor) || epoch.length >= sizeof checker->epoch) {
        VIOLATION("hello's data lack epoch or cursor: %.*s", session->index, (int)event->data.length, event->data.bytes);
        return;
    }
    memcpy(checker->epoch, epoch.bytes, epoch.length);
    if (!is_plain(values[0], session->id)) VIOLATION("hello names another session", session->index);
    if (json_array_count(values[5]) < 0) VIOLATION("hello lists no features", session->index);
    if (event->id.length != cursor.length || memcmp(event->id.bytes, cursor.bytes, cursor.length) != 0
        || !read_cursor(checker, cursor, &checker->last_id)) {
        VIOLATION("hello's id is not its cursor, or not of its epoch", session->index);
    }
}

static void take_id(checker *checker, session *session, tally *tally, json id) {
    uint64_t number;
    if (!read_cursor(checker, id, &number)) {
        VIOLATION("an id '%.*s' that is not of the hello's epoch", session->index, (int)id.length, id.bytes);
        return;
    }
    // The first states may carry the cursor that hello did: nothing has happened in between.
    if (number < checker->last_id || (number == checker->last_id && checker->started && !checker->after_reset)) {
        VIOLATION("the id %.*s does not grow", session->index, (int)id.length, id.bytes);
    }
    checker->last_id = number;
}

static void take_state(
    checker *checker, session *session, tally *tally, const sse_event *event, bool measured, uint64_t now_ns
) {
    static const char *const names[] = {"feature", "version", "intent", "state"};
    static const char *const state_names[] = {"count"};
    json values[4], count_text, intent;
    int64_t version, count;
    if (!json_members(event->data, names, values, 4) || !is_plain(values[0], session->feature)
        || !json_integer(values[1], &version) || !json_members(values[3], state_names, &count_text, 1)
        || !json_integer(count_text, &count)) {
        VIOLATION("not a state of %s: %.*s", session->index, session->feature, (int)event->data.length, event->data.bytes);
        return;
    }
    tally->states++;
    bool has_intent = json_plain_string(values[2], &intent);
    checker->intent = has_intent ? hash_bytes(intent.bytes, intent.length) : 0;
    if (!checker->started) {
        checker->started = true;
        checker->first_version = (uint64_t)version;
        checker->first_count = count;
        checker->versions = (sequence){(uint64_t)version, 1};
        checker->milestones = (sequence){(uint64_t)milestone_of(count), 1};
        return;
    }
    if (count - checker->first_count != version - (int64_t)checker->first_version) {
        VIOLATION("version %lld shows count %lld", session->index, (long long)version, (long long)count);
    }
    if (checker->after_reset && (uint64_t)version == checker->versions.last) return;
    uint64_t gap;
    switch (sequence_take(&checker->versions, (uint64_t)version, &gap)) {
    case in_order:
        tally->skipped += gap;
        checker->skipped += gap;
        break;
    case duplicate: tally->duplicated++; return;
    case late:
        tally->reordered++;
        tally->skipped--;
        break;
    }
    if (!has_intent) VIOLATION("version %lld names no intent", session->index, (long long)version);
    if (measured) session_shown(session, tally, (uint64_t)version, checker->intent, now_ns);
}

static void take_label(checker *checker, session *session, tally *tally, const sse_event *event) {
    static const char *const names[] = {"feature", "version", "intent", "id", "replay", "label"};
    static const char *const label_names[] = {"type", "count"};
    json values[6], members[2], id, intent;
    int64_t version, count;
    if (!json_members(event->data, names, values, 6) || !is_plain(values[0], session->feature)
        || !json_integer(values[1], &version) || !json_plain_string(values[2], &intent)
        || !json_plain_string(values[3], &id) || !json_members(values[5], label_names, members, 2)
        || !is_plain(members[0], "milestone") || !json_integer(members[1], &count)) {
        VIOLATION("not a milestone of %s: %.*s", session->index, session->feature, (int)event->data.length, event->data.bytes);
        return;
    }
    tally->labels++;
    if (!json_equals(values[4], "false")) tally->replayed++;
    if (!checker->started || (uint64_t)version > checker->versions.last) {
        VIOLATION("the label of version %lld comes before its state", session->index, (long long)version);
    } else if ((uint64_t)version == checker->versions.last
               && hash_bytes(intent.bytes, intent.length) != checker->intent) {
        VIOLATION("the label of version %lld names another intent than its state", session->index, (long long)version);
    }
    if (count % 10 != 0 || count - checker->first_count != version - (int64_t)checker->first_version) {
        VIOLATION("a milestone of %lld at version %lld", session->index, (long long)count, (long long)version);
    }

    const char *dot = memrchr(id.bytes, '.', id.length);
    uint64_t turn = 0, stream_id = 0;
    int64_t number = 0;
    json cursor = {id.bytes, dot ? (size_t)(dot - id.bytes) : 0};
    if (!dot || !read_cursor(checker, cursor, &turn)
        || !json_integer((json){dot + 1, id.length - cursor.length - 1}, &number)) {
        VIOLATION("a label's id is '%.*s', not <epoch>.<seq>.<n>", session->index, (int)id.length, id.bytes);
    } else if (!read_cursor(checker, event->id, &stream_id) || stream_id < turn) {
        VIOLATION("the only label of a turn comes without that turn's cursor", session->index);
    }

    uint64_t gap;
    switch (sequence_take(&checker->milestones, (uint64_t)milestone_of(count), &gap)) {
    case in_order:
        if (checker->labels_lost) tally->labels_lost += gap;
        else tally->labels_missing += gap;
        checker->labels_lost = false;
        if (turn < checker->label_sequence || (turn == checker->label_sequence && (uint64_t)number <= checker->label_number)) {
            VIOLATION("the label id %.*s does not grow", session->index, (int)id.length, id.bytes);
        }
        checker->label_sequence = turn;
        checker->label_number = (uint64_t)number;
        break;
    case duplicate: tally->labels_duplicated++; break;
    case late:
        tally->labels_reordered++;
        tally->labels_missing--;
        break;
    }
}

static void take_reset(checker *checker, session *session, tally *tally, const sse_event *event) {
    static const char *const names[] = {"reason", "labelsLost"};
    json values[2];
    tally->resets++;
    if (!json_members(event->data, names, values, 2) || !values[0].bytes || !values[1].bytes) {
        VIOLATION("not a reset: %.*s", session->index, (int)event->data.length, event->data.bytes);
        return;
    }
    checker->after_reset = true;
    if (json_equals(values[1], "true")) checker->labels_lost = true;
}

void check_event(
    checker *checker, session *session, tally *tally, const sse_event *event, bool measured, uint64_t now_ns
) {
    if (!checker->hello) {
        checker->hello = true;
        take_hello(checker, session, tally, event);
        if (json_equals(event->event, "hello")) return;
    }
    if (event->id.bytes) take_id(checker, session, tally, event->id);
    if (json_equals(event->event, "state")) {
        take_state(checker, session, tally, event, measured, now_ns);
        checker->after_reset = false;
    } else if (json_equals(event->event, "label")) {
        take_label(checker, session, tally, event);
    } else if (json_equals(event->event, "ping")) {
        tally->pings++;
    } else if (json_equals(event->event, "reset")) {
        take_reset(checker, session, tally, event);
    } else if (json_equals(event->event, "goaway")) {
        tally->goaways++;
    } else {
        VIOLATION("an event named '%.*s'", session->index, (int)event->event.length, event->event.bytes);
    }
}

// The count that the newest answer or state stands for.
static int64_t final_count(const checker *checker, const session *session) {
    uint64_t version = session->answered_version;
    if (version < checker->versions.last) version = checker->versions.last;
    return checker->first_count + (int64_t)(version - checker->first_version);
}

bool check_complete(const checker *checker, const session *session) {
    if (!checker->started || checker->versions.last < session->answered_version) return false;
    return checker->labels_lost || (int64_t)checker->milestones.last >= milestone_of(final_count(checker, session));
}

void check_finish(checker *checker, const session *session, tally *tally) {
    if (!checker->started) {
        VIOLATION("its stream never showed a state", session->index);
        return;
    }
    if (checker->versions.last < session->answered_version) {
        // The newest state is owed to every stream, whatever it skipped on the way.
        VIOLATION(
            "the newest state shown is version %llu, the newest answered %llu", session->index,
            (unsigned long long)checker->versions.last, (unsigned long long)session->answered_version);
        tally->skipped += session->answered_version - checker->versions.last;
    }
    uint64_t owed = (uint64_t)milestone_of(final_count(checker, session));
    if (owed > checker->milestones.last) {
        if (checker->labels_lost) tally->labels_lost += owed - checker->milestones.last;
        else tally->labels_missing += owed - checker->milestones.last;
    }
}
