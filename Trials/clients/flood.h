// Connections of one address, or of a few, that take from a server all that they can get: requests as fast as they are answered,
// streams that are not read, requests that never end, and silence.
#pragma once

#include "../../Benchmarks/loadgen/net.h"
#include "../../Benchmarks/loadgen/options.h"

typedef struct attacker attacker;

/// What some of the connections do.
typedef struct {
    const char *name;
    unsigned count;
    /// Writes the request into `out`, whole or what is sent of it at first; false if it has to wait.
    bool (*prepare)(attacker *attacker);
    /// The answer is whole, or the attacker read as much as it wants.
    void (*answered)(attacker *attacker);
    /// After the first bytes, a byte more each time; null where nothing follows.
    const char *(*drip)(attacker *attacker);
    /// How many of an answer's bytes are read before `answered`; 0 for all.
    size_t room;
    /// The pause before the next attempt, after one that was refused or cut off.
    unsigned pause_ms;
    /// It begins in the second half.
    bool silent;
} attack;

struct attacker {
    connection connection;
    const attack *attack;
    /// The begin of the answer.
    char body[512];
    size_t body_length;
    uint64_t wake_ns, turn;
    unsigned index;
    /// Its request was begun and nothing has come of it yet; its stream is open and is not read.
    bool asking, held;
    /// Its request stays the same.
    bool prepared;
};

enum { attack_count = 8 };
extern const attack attacks[attack_count];

/// The tokens of the sessions that the flood has made, which its other attacks use.
enum { most_tokens = 2000 };
extern char tokens[most_tokens][96];
extern unsigned token_count;

/// Whether that part is wanted; with null all are.
bool has_part(const char *parts, const char *name);
