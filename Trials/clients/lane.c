#include "lane.h"

#include <stdio.h>
#include <string.h>

#include "request.h"

#define VIOLATION(...) tally_violation(lane->call.found->tally, __VA_ARGS__)
static const uint64_t millisecond = 1000000;

static void take_answer(call *call, int status, json body);

static uint64_t pause(lane *lane) {
    return lane->think_ns ? next_random(&lane->random) % (2 * lane->think_ns) : 0;
}

static void next(lane *lane) {
    lane->idle = *lane->stopping || lane->subject->gone;
    if (!lane->idle) lane_begin(lane);
}

// `prefer`: a header line more.
static void ask(lane *lane, uint64_t pause_ns, const char *prefer) {
    subject_feature feature = lane->kind == lane_work ? feature_order : lane->tap ? feature_lesson : feature_counter;
    char path[64], fields[160], body[64];
    snprintf(path, sizeof path, "/features/%s/intents", subject_features[feature]);
    if (lane->kind == lane_sequence) {
        snprintf(
            fields, sizeof fields, "Intent-Seq: %llu\r\nIntent-Epoch: one\r\n%s", (unsigned long long)lane->number,
            prefer);
    } else {
        snprintf(
            fields, sizeof fields, "Idempotency-Key: \"%u-%llu\"\r\n%s", lane->index,
            (unsigned long long)lane->number, prefer);
    }
    if (feature == feature_counter) snprintf(body, sizeof body, "{\"type\":\"add\",\"amount\":%u}", lane->amount);
    else snprintf(body, sizeof body, "{\"type\":\"%s\"}", lane->tap ? "tapOpenMaps" : "refreshAllData");
    lane->call.request.length = 0;
    request_append_with(&lane->call.request, "POST", path, lane->subject->session.token, fields, body);
    call_send(&lane->call, pause_ns, take_answer);
}

// The same request once more; the call still holds it.
static void again(lane *lane) {
    lane->call.found->refused++;
    call_send(&lane->call, millisecond * (2 + next_random(&lane->random) % 10), lane->call.handler);
}

static bool refused(lane *lane, int status, json body) {
    if (status == 503) lane->call.found->unavailable++;
    else if (status == 507) lane->call.found->full++;
    else if (status != 409 && status != 429) return false;
    if (memmem(body.bytes, body.length, "receipt-expired", 15)) {
        VIOLATION("session %u: the receipt of an intent is gone", lane->subject->index);
        lane->call.found->lost++;
        next(lane);
    } else {
        again(lane);
    }
    return true;
}

// The first answer to an intent; or, where that said the state, the second.
static void take_version(lane *lane, uint64_t version, uint64_t intent) {
    subject *subject = lane->subject;
    if (lane->confirming && lane->version && lane->version != version) {
        VIOLATION("session %u: an intent's second answer names another version", subject->index);
        lane->call.found->corrupt++;
    }
    if (lane->kind == lane_work) return;
    if (lane->tap) subject_tapped(subject, intent);
    else history_acknowledged(&subject->counter, version, lane->amount, intent);
}

static void take_answer(call *call, int status, json body) {
    static const char *const names[] = {"intent", "version"}, *const count_name[] = {"count"};
    lane *lane = call->owner;
    survival *found = call->found;
    json values[2], intent;
    int64_t version, count;
    if (lane->subject->gone) {
        lane->idle = true;
        return;
    }
    if (status == 404) {
        subject_gone(lane->subject);
        lane->idle = true;
        return;
    }
    if (refused(lane, status, body)) return;
    if (call->response.replayed) found->replayed++;
    if (status == 200 && json_members(body, count_name, values, 1) && json_integer(values[0], &count)) {
        found->acknowledged++;
        // A replay shows the state of now, not of then; which version the intent made, the receipt says.
        lane->version = call->response.replayed ? 0 : call->response.version;
        if (lane->version) history_shown(&lane->subject->counter, lane->version, count);
        lane->confirming = true;
        ask(lane, 0, "");
        return;
    }
    if (status != 202 || !json_members(body, names, values, 2) || !json_plain_string(values[0], &intent)
        || !json_integer(values[1], &version)) {
        VIOLATION("session %u: an intent is answered with %d: %.*s", lane->subject->index, status, (int)body.length, body.bytes);
        return next(lane);
    }
    if (!lane->confirming) {
        found->acknowledged++;
    } else {
        found->confirmed++;
        if (lane->kind != lane_sequence && !call->response.replayed) {
            VIOLATION("session %u: an answered intent ran again", lane->subject->index);
            found->doubled++;
        }
    }
    take_version(lane, (uint64_t)version, hash_bytes(intent.bytes, intent.length));
    // Now and then it asks again though it was answered.
    if (!lane->confirming && next_random(&lane->random) % 10 == 0) {
        lane->confirming = true;
        lane->version = (uint64_t)version;
        ask(lane, pause(lane), "");
        return;
    }
    next(lane);
}

// --- The short sessions ---

static void take_short(call *call, int status, json body);

static void ask_short(lane *lane, uint64_t pause_ns) {
    enum { posts = 3 };
    char fields[64];
    buffer *out = &lane->call.request;
    out->length = 0;
    if (lane->step == 0) {
        request_append(out, "POST", "/sessions", NULL, NULL);
    } else if (lane->step <= posts) {
        snprintf(fields, sizeof fields, "Idempotency-Key: \"%u\"\r\n", lane->step);
        request_append_with(
            out, "POST", "/features/counter/intents", lane->own.token, fields, "{\"type\":\"increment\"}");
    } else if (lane->step == posts + 1) {
        request_append(out, "GET", "/features/counter/state", lane->own.token, NULL);
    } else {
        request_append(out, "DELETE", "/sessions/current", lane->own.token, NULL);
    }
    lane->call.drop = next_random(&lane->random) % 50 == 0;
    call_send(&lane->call, pause_ns, take_short);
}

static void take_short(call *call, int status, json body) {
    static const char *const version_name[] = {"version"}, *const count_name[] = {"count"};
    lane *lane = call->owner;
    survival *found = call->found;
    json text;
    int64_t number;
    bool fine = false;
    if (refused(lane, status, body)) return;
    if (call->response.replayed) found->replayed++;
    if (lane->step == 0) {
        fine = status == 201 && session_take(&lane->own, body);
    } else if (lane->step <= 3) {
        fine = status == 202 && json_members(body, version_name, &text, 1) && json_integer(text, &number)
            && number == lane->step + 1;
        if (fine) found->acknowledged++;
    } else if (lane->step == 4) {
        fine = status == 200 && json_members(body, count_name, &text, 1) && json_integer(text, &number);
        if (fine && number > 3) found->doubled++;
        if (fine && number < 3) found->lost++;
        fine = fine && number == 3;
    } else {
        // A repeated deletion finds it gone.
        fine = status == 204 || status == 404;
        if (fine) found->short_lived++;
    }
    if (!fine) {
        VIOLATION("a short session's step %u is answered with %d: %.*s", lane->step, status, (int)body.length, body.bytes);
        if (status == 404) found->sessions_lost++;
    }
    lane->step = fine ? (lane->step + 1) % 6 : 0;
    lane->idle = *lane->stopping;
    if (!lane->idle) ask_short(lane, pause(lane));
}

// --- The end ---

static void take_state(call *call, int status, json body) {
    static const char *const names[] = {"count"};
    lane *lane = call->owner;
    subject *subject = lane->subject;
    json text;
    lane->idle = true;
    if (status == 404) return subject_gone(subject);
    bool order = lane->reading;
    if (status != 200 || (order && memmem(body.bytes, body.length, "\"loading\"", 9))) {
        if (status != 200) call->found->refused++;
        lane->idle = false;
        call_send(call, 20 * millisecond, take_state);
        return;
    }
    if (order) {
        subject->closed = true;
        return;
    }
    if (!json_members(body, names, &text, 1) || !json_integer(text, &subject->last_count)) {
        VIOLATION("session %u: a state without a count: %.*s", subject->index, (int)body.length, body.bytes);
        return;
    }
    subject->last_version = call->response.version;
    lane->reading = true;
    lane->idle = false;
    call->request.length = 0;
    request_append(&call->request, "GET", "/features/order-detail:42/state", subject->session.token, NULL);
    call_send(call, 0, take_state);
}

void lane_read_states(lane *lane) {
    lane->idle = false;
    lane->reading = false;
    lane->call.request.length = 0;
    request_append(
        &lane->call.request, "GET", "/features/counter/state", lane->subject->session.token, NULL);
    call_send(&lane->call, 0, take_state);
}

void lane_open(
    lane *lane, network *network, subject *subject, survival *found, lane_kind kind, unsigned index, uint64_t seed
) {
    memset(lane, 0, sizeof *lane);
    lane->random = seed | 1;
    lane->kind = kind;
    lane->subject = subject;
    lane->index = index;
    lane->idle = true;
    call_open(&lane->call, network, found, lane, seed * 31 + 7);
}

void lane_begin(lane *lane) {
    lane->idle = false;
    if (lane->kind == lane_short) return ask_short(lane, pause(lane));
    lane->number = lane->kind == lane_sequence ? ++lane->subject->last_sequence : lane->number + 1;
    lane->amount = 1 + (uint32_t)(next_random(&lane->random) % 3);
    lane->tap = lane->kind != lane_work && next_random(&lane->random) % 8 == 0;
    lane->confirming = false;
    lane->version = 0;
    lane->call.drop = next_random(&lane->random) % 50 == 0;
    bool whole = lane->kind == lane_keys && !lane->tap && next_random(&lane->random) % 8 == 0;
    ask(lane, pause(lane), whole ? "Prefer: return=representation\r\n" : "");
}
