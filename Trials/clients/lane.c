#include "lane.h"

#include <stdio.h>
#include <string.h>

#define VIOLATION(...) tally_violation(lane->found->tally, __VA_ARGS__)
static const uint64_t millisecond = 1000000;

static const uint64_t patience = 15000 * millisecond;

static void take_answer(poster *poster, int status, json body);

// Sends what the lane's connection holds, so long from now.
static void send_in(lane *lane, uint64_t pause_ns, poster_handler handler) {
    lane->handler = handler;
    lane->idle = false;
    lane->wake_ns = now_ns() + pause_ns;
    lane->deadline_ns = lane->wake_ns + patience;
}

// A moment later, on another connection: the server may be down for a while.
static void send_again(lane *lane) {
    lane->found->repeats++;
    // Those of a server that is away for seconds do not keep it from its start.
    uint64_t pause_ms = lane->found->comeback ? 200 : 14;
    lane->wake_ns = now_ns() + millisecond * (2 + next_random(&lane->random) % pause_ms);
}

static void take_any(poster *poster, int status, json body) {
    lane *lane = poster->owner;
    if (status == 0) return send_again(lane);
    lane->idle = true;
    lane->handler(poster, status, body);
}

uint64_t lane_tick(lane *lane, uint64_t now) {
    if (lane->idle) return UINT64_MAX;
    if (lane->wake_ns && lane->wake_ns <= now) {
        lane->wake_ns = 0;
        if (!poster_send_again(&lane->poster, take_any)) send_again(lane);
    } else if (!lane->wake_ns && lane->deadline_ns <= now) {
        lane->deadline_ns = now + patience;
        VIOLATION("no answer in 15 s, and the connection is still open");
        connection_close(&lane->poster.connection, false);
        send_again(lane);
    }
    return lane->wake_ns ? lane->wake_ns : lane->deadline_ns;
}

static void take_sent(poster *poster) {
    lane *lane = poster->owner;
    if (!lane->drop) return;
    lane->drop = false;
    lane->found->dropped++;
    connection_close(&poster->connection, next_random(&lane->random) & 1);
    lane->wake_ns = now_ns() + 1 + millisecond * (next_random(&lane->random) % 4);
}

static uint64_t pause(lane *lane) {
    return lane->think_ns ? next_random(&lane->random) % (2 * lane->think_ns) : 0;
}

static void next(lane *lane) {
    if (!*lane->stopping && !lane->subject->gone) lane_begin(lane);
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
    connection_ask(&lane->poster.connection, "POST", path, lane->subject->session.token, fields, body);
    send_in(lane, pause_ns, take_answer);
}

static bool refused(lane *lane, int status, json body) {
    comeback *comeback = lane->found->comeback;
    bool by_proxy = lane->poster.proxied && status >= 502 && status <= 504;
    if (comeback && (by_proxy || status == 503)) {
        *(comeback_listens(comeback) ? &comeback->intents_refused_late : &comeback->intents_refused) += 1;
    }
    if (by_proxy) {
        lane->found->refused++;
        send_in(lane, millisecond * (100 + next_random(&lane->random) % 200), lane->handler);
        return true;
    }
    if (status == 503) lane->found->unavailable++;
    else if (status == 507) lane->found->full++;
    else if (status != 409 && status != 429) return false;
    if (memmem(body.bytes, body.length, "receipt-expired", 15)) {
        VIOLATION("session %u: the receipt of an intent is gone", lane->subject->index);
        lane->found->lost++;
        next(lane);
    } else {
        // The same request once more.
        lane->found->refused++;
        send_in(lane, millisecond * (2 + next_random(&lane->random) % 10), lane->handler);
    }
    return true;
}

// The first answer to an intent; or, where that said the state, the second.
static void take_version(lane *lane, uint64_t version, uint64_t intent) {
    subject *subject = lane->subject;
    if (lane->confirming && lane->version && lane->version != version) {
        VIOLATION("session %u: an intent's second answer names another version", subject->index);
        lane->found->corrupt++;
    }
    if (lane->kind == lane_work) return;
    if (lane->tap) subject_tapped(subject, intent);
    else history_acknowledged(&subject->counter, version, lane->amount, intent);
}

static void take_answer(poster *poster, int status, json body) {
    lane *lane = poster->owner;
    survival *found = lane->found;
    const http_response *response = &poster->connection.response;
    json intent;
    int64_t version, count;
    if (lane->subject->gone) return;
    if (status == 404) return subject_gone(lane->subject);
    if (refused(lane, status, body)) return;
    if (response->replayed) found->answered_by_receipt++;
    if (status == 200 && json_read(body, "count:i", &count)) {
        found->acknowledged++;
        // A replay shows the state of now, not of then; which version the intent made, the receipt says.
        lane->version = response->replayed ? 0 : response->version;
        if (lane->version) history_shown(&lane->subject->counter, lane->version, count);
        lane->confirming = true;
        ask(lane, 0, "");
        return;
    }
    if (status != 202 || !json_read(body, "intent:s version:i", &intent, &version)) {
        VIOLATION("session %u: an intent is answered with %d: %.*s", lane->subject->index, status, (int)body.length, body.bytes);
        return next(lane);
    }
    if (!lane->confirming) {
        found->acknowledged++;
    } else {
        found->confirmed++;
        if (lane->kind != lane_sequence && !response->replayed) {
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

static void take_short(poster *poster, int status, json body);

static void ask_short(lane *lane, uint64_t pause_ns) {
    static const char *const deeds[][2] = {
        {"POST", "/sessions"}, {"POST", "/features/counter/intents"}, {"POST", "/features/counter/intents"},
        {"POST", "/features/counter/intents"}, {"GET", "/features/counter/state"}, {"DELETE", "/sessions/current"},
    };
    bool posts = lane->step >= 1 && lane->step <= 3;
    char fields[64];
    snprintf(fields, sizeof fields, "Idempotency-Key: \"%u\"\r\n", lane->step);
    connection_ask(
        &lane->poster.connection, deeds[lane->step][0], deeds[lane->step][1], lane->step ? lane->own.token : NULL,
        posts ? fields : NULL, posts ? "{\"type\":\"increment\"}" : NULL);
    lane->drop = next_random(&lane->random) % 50 == 0;
    send_in(lane, pause_ns, take_short);
}

static void take_short(poster *poster, int status, json body) {
    lane *lane = poster->owner;
    survival *found = lane->found;
    int64_t number;
    bool fine = false;
    if (refused(lane, status, body)) return;
    if (poster->connection.response.replayed) found->answered_by_receipt++;
    if (lane->step == 0) {
        fine = status == 201 && session_take(&lane->own, body);
        lane->version = 1;
    } else if (lane->step <= 3) {
        // Not the next one in any case: where turns are recorded, the load of a store after a restart has a number.
        fine = status == 202 && json_read(body, "version:i", &number) && number > (int64_t)lane->version;
        if (fine) lane->version = (uint64_t)number, found->acknowledged++;
    } else if (lane->step == 4) {
        fine = status == 200 && json_read(body, "count:i", &number);
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
    if (!*lane->stopping) ask_short(lane, pause(lane));
}

// --- The end ---

static void read_state(lane *lane, const char *path);

static void take_state(poster *poster, int status, json body) {
    lane *lane = poster->owner;
    subject *subject = lane->subject;
    if (status == 404) return subject_gone(subject);
    if (status != 200 || (lane->reading && memmem(body.bytes, body.length, "\"loading\"", 9))) {
        if (status != 200) lane->found->refused++;
        return send_in(lane, 20 * millisecond, take_state);
    }
    if (lane->reading) {
        subject->closed = true;
    } else if (!json_read(body, "count:i", &subject->last_count)) {
        VIOLATION("session %u: a state without a count: %.*s", subject->index, (int)body.length, body.bytes);
    } else {
        subject->last_version = poster->connection.response.version;
        lane->reading = true;
        // There is no work to wait for.
        if (lane->part) subject->closed = true;
        else read_state(lane, "/features/order-detail:42/state");
    }
}

static void read_state(lane *lane, const char *path) {
    connection_ask(&lane->poster.connection, "GET", path, lane->subject->session.token, NULL, NULL);
    send_in(lane, 0, take_state);
}

void lane_read_states(lane *lane) {
    lane->reading = false;
    read_state(lane, "/features/counter/state");
}

void lane_open(lane *lane, subject *subject, survival *found, lane_kind kind, unsigned index, uint64_t seed) {
    memset(lane, 0, sizeof *lane);
    lane->random = seed | 1;
    lane->kind = kind;
    lane->subject = subject;
    lane->index = index;
    lane->idle = true;
    lane->found = found;
    poster_open(&lane->poster, found->tally, lane);
    lane->poster.sent = take_sent;
}

void lane_begin(lane *lane) {
    if (lane->kind == lane_short) return ask_short(lane, pause(lane));
    lane->number = lane->kind == lane_sequence ? ++lane->subject->last_sequence : lane->number + 1;
    lane->amount = 1 + (uint32_t)(next_random(&lane->random) % 3);
    if (lane->part) {
        lane->subject = &lane->part[lane->part_at++ % lane->part_count];
        // Each a milestone, so that each has its label.
        lane->amount *= 10;
    }
    lane->tap = !lane->part && lane->kind != lane_work && next_random(&lane->random) % 8 == 0;
    lane->confirming = false;
    lane->version = 0;
    lane->drop = next_random(&lane->random) % 50 == 0;
    bool whole = lane->kind == lane_keys && !lane->tap && next_random(&lane->random) % 8 == 0;
    ask(lane, pause(lane), whole ? "Prefer: return=representation\r\n" : "");
}
