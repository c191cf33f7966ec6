#include "flood.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../Benchmarks/loadgen/tally.h"
#include "modes.h"

enum { tick_ms = 10, drip_ms = 200 };
static const uint64_t millisecond = 1000000;

/// What became of an attack's requests.
typedef struct { uint64_t statuses[600], begun, cut; } outcome;

static outcome outcomes[attack_count];
static attacker *attackers;
static unsigned attacker_count;
static bool session_part;
static volatile sig_atomic_t asked_to_stop;

static void stop(int number) {
    (void)number;
    asked_to_stop = 1;
}

bool has_part(const char *parts, const char *name) {
    size_t length = strlen(name);
    for (const char *at = parts; at && *at; at += strcspn(at, ","), at += *at == ',') {
        if (strcspn(at, ",") == length && strncmp(at, name, length) == 0) return true;
    }
    return !parts;
}

static outcome *outcome_of(const attacker *self) { return &outcomes[self->attack - attacks]; }

static void wake_in(attacker *self, unsigned milliseconds) { self->wake_ns = now_ns() + milliseconds * millisecond; }

// Other attacks need sessions also where making them is not an attack of this run: two connections make them, slowly.
static bool makes_for_others(const attacker *self) { return !session_part && self->attack == &attacks[0]; }
static bool is_over(const attacker *self) {
    return makes_for_others(self) && (self->index >= 2 || token_count >= 1050);
}

static void begin(attacker *self) {
    self->wake_ns = 0;
    self->held = self->asking = false;
    self->body_length = 0;
    self->connection.room = self->attack->room;
    if (is_over(self)) return;
    if (!self->attack->prepare(self)) return wake_in(self, 100);
    if (!connection_send(&self->connection)) return wake_in(self, 100);
    outcome_of(self)->begun++;
    self->asking = true;
    if (self->attack->drip) wake_in(self, drip_ms);
}

static void take_body(void *context, const char *bytes, size_t length) {
    attacker *self = context;
    size_t room = sizeof self->body - self->body_length, taken = length < room ? length : room;
    memcpy(self->body + self->body_length, bytes, taken);
    self->body_length += taken;
}

static void begin_anew(attacker *self, unsigned pause_ms) {
    connection_close(&self->connection, true);
    self->asking = false;
    if (pause_ms) return wake_in(self, pause_ms);
    begin(self);
}

static void take_read(connection *connection, size_t unread) {
    attacker *self = (attacker *)connection;
    const http_response *response = &connection->response;
    bool whole = response->state == http_done, enough = self->attack->room && self->body_length > 0;
    (void)unread;
    if (!whole && !enough) return;
    if (self->asking) outcome_of(self)->statuses[response->status % 600]++;
    if (self->attack->answered) self->attack->answered(self);
    if (self->held) return connection_pause(connection, true);
    bool refused = response->status >= 400, sent = connection->sent == connection->out.length;
    bool open = whole && !response->closes && sent;
    if (refused && makes_for_others(self)) return begin_anew(self, 50);
    if (!open || self->attack->drip) return begin_anew(self, refused || enough ? self->attack->pause_ms : 0);
    begin(self);
}

static void take_end(connection *connection, const char *why, bool broken) {
    attacker *self = (attacker *)connection;
    (void)why;
    (void)broken;
    outcome_of(self)->cut++;
    begin_anew(self, self->attack->pause_ms);
}

static void tick(attacker *self) {
    const char *byte;
    if (!self->asking) return begin(self);
    self->wake_ns = 0;
    if (!self->attack->drip || !(byte = self->attack->drip(self))) return;
    wake_in(self, drip_ms);
    if (!self->connection.open || self->connection.writing) return;
    self->connection.out.length = 0;
    buffer_append(&self->connection.out, byte, 1);
    connection_send(&self->connection);
}

static void show(unsigned index, unsigned held) {
    const outcome *outcome = &outcomes[index];
    printf("%-9s %4u connections, %llu requests, %llu cut off", attacks[index].name, attacks[index].count,
        (u64)outcome->begun, (u64)outcome->cut);
    if (held) printf(", %u streams open at the end", held);
    for (int status = 1; status < 600; status++) {
        if (outcome->statuses[status]) printf(", %llu answers %d", (u64)outcome->statuses[status], status);
    }
    puts("");
}

static int run_flood(const options *options) {
    static const connection_kind kind = {NULL, take_body, take_read, take_end};
    unsigned index = 0;
    signal(SIGTERM, stop);
    session_part = has_part(options->parts, "sessions");
    for (unsigned i = 0; i < attack_count; i++) attacker_count += attacks[i].count;
    network_start(options->port, attacker_count + 64, options->networks);
    attackers = allocate(attacker_count, sizeof *attackers);
    for (unsigned i = 0; i < attack_count; i++) {
        bool wanted = i == 0 || has_part(options->parts, attacks[i].name);
        for (unsigned n = 0; wanted && n < attacks[i].count; n++) {
            attacker *self = &attackers[index++];
            *self = (attacker){.connection = {.kind = &kind}, .attack = &attacks[i], .index = n};
            // The silent connections come last: they use up the connections that the address may have.
            if (attacks[i].silent) wake_in(self, (unsigned)(options->seconds * 500));
            else begin(self);
        }
    }
    attacker_count = index;
    fprintf(stderr, "loadgen: the flood has begun\n");
    usage before = usage_now(0);
    for (uint64_t due = 0, now; !asked_to_stop;) {
        now = now_ns();
        if (now >= due) {
            due = now + tick_ms * millisecond;
            for (unsigned i = 0; i < attacker_count; i++) {
                if (attackers[i].wake_ns && attackers[i].wake_ns <= now) tick(&attackers[i]);
            }
        }
        network_turn(due);
    }
    usage used = usage_now(0);
    for (unsigned i = 0; i < attack_count; i++) {
        unsigned held = 0;
        for (unsigned n = 0; n < attacker_count; n++) held += attackers[n].attack == &attacks[i] && attackers[n].held;
        if (i == 0 || has_part(options->parts, attacks[i].name)) show(i, held);
    }
    printf("%-9s %.1f s, %.2f cores, %u sessions\n", "flood", used.at - before.at,
        (used.generator - before.generator) / (used.at - before.at), token_count);
    return 0;
}

const mode flood_mode = {
    "flood",
    "connections of one address, or of eight, that take all they can get, until SIGTERM; silent ones come after half of --seconds",
    {.seconds = 10}, run_flood,
};
