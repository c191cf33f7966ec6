#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

static const char usage[] =
    "loadgen MODE --port PORT [options]     loads a server of this machine and holds its streams to the contract\n"
    "\n"
    "  load     a session and a stream each, intents round robin over them; every event must come once, in order\n"
    "  vanish   clients that open a stream, read a little and vanish, over and over, while intents flow\n"
    "  slow     one session with two streams, one of which stops reading for a while\n"
    "  fanout   one session with many streams: an intent once all of them have shown the one before\n"
    "  storm    streams that all come back at once with their cursors, for what happened while they were away\n"
    "  multiplex  sessions with a stream of several features each\n"
    "  survive  sessions that count on while the server is killed and started again, until SIGTERM: every intent is\n"
    "           repeated until it is answered, every stream comes back, and in the end all must fit together\n"
    "\n"
    "  --host ADDRESS       of 127.0.0.0/8 (127.0.0.1)\n"
    "  --connections N      keep-alive connections that post (load 64, others 8)\n"
    "  --rate N             intents a second, sent when they are due whatever the answers do, latencies from then on;\n"
    "                       0: each connection posts again as soon as it is answered (load 2000, vanish 500, slow 4000, survive 1500)\n"
    "  --seconds N          how long intents flow (load 10, slow 12, survive 3600)\n"
    "  --warmup N           load: seconds before latencies count (1)\n"
    "  --drain N            seconds that outstanding answers and events have at the end (10, survive 30)\n"
    "  --streams N          load: sessions and streams (100)\n"
    "  --active N           load: intents go to so many of the sessions, the others are idle (all)\n"
    "  --feature ID         what is asked and shown (counter)\n"
    "  --features N         multiplex: features of each stream, ID-1, ID-2, ... (10)\n"
    "  --at-once N          storm: streams that may be opening at a time (all)\n"
    "  --nchan              fanout: the server is nchan, with /publish/1 and /subscribe/1\n"
    "  --pid N              the server's process, whose processor time and memory go into the report\n"
    "  --may-conflate       load: a skipped state is no fault, as the contract has it\n"
    "  --keep FILE          load: its sessions' ids and tokens go there\n"
    "  --tokens FILE        load: sessions that were kept so, instead of new ones\n"
    "  --clients N          vanish: at a time (1000)\n"
    "  --rounds N           vanish: how often each vanishes (10)\n"
    "  --sessions N         vanish: shared by the clients (250); survive: three clients each (32)\n"
    "  --seed N             survive: for what is left to chance (1)\n"
    "  --expect-overflow    slow: the outbox is smaller than what is missed, a reset must say so\n"
    "  --json FILE          the report as JSON, too\n"
    "\n"
    "Exit code: 0 everything held, 1 something did not, 2 it could not run.\n";

_Noreturn static void wrong(const char *format, const char *name, const char *value) {
    fprintf(stderr, "loadgen: ");
    fprintf(stderr, format, name, value);
    fprintf(stderr, "\n\n%s", usage);
    exit(2);
}

static double number(const char *name, const char *value, double least, double most) {
    char *end;
    errno = 0;
    double result = strtod(value, &end);
    if (errno || end == value || *end || !(result >= least && result <= most)) {
        wrong("%s is '%s'; expected a number in its range", name, value);
    }
    return result;
}

static unsigned whole(const char *name, const char *value, double least, double most) {
    double result = number(name, value, least, most);
    if (result != (double)(unsigned)result) wrong("%s is '%s'; expected a whole number", name, value);
    return (unsigned)result;
}

static options defaults(const char *mode) {
    options o = {
        .host = "127.0.0.1", .streams = 100, .connections = 8, .clients = 1000, .rounds = 10, .sessions = 250,
        .seconds = 10, .warmup = 1, .drain = 10, .seed = 1, .feature = "counter", .features = 10,
    };
    if (strcmp(mode, "load") == 0) {
        o.mode = mode_load;
        o.connections = 64;
        o.rate = 2000;
    } else if (strcmp(mode, "vanish") == 0) {
        o.mode = mode_vanish;
        o.rate = 500;
    } else if (strcmp(mode, "slow") == 0) {
        o.mode = mode_slow;
        o.rate = 4000;
        o.seconds = 12;
    } else if (strcmp(mode, "survive") == 0) {
        o.mode = mode_survive;
        o.rate = 1500;
        o.sessions = 32;
        o.seconds = 3600;
        o.drain = 30;
    } else if (strcmp(mode, "fanout") == 0) {
        o.mode = mode_fanout;
        o.connections = 1;
        o.streams = 10000;
        o.rate = 0;
    } else if (strcmp(mode, "storm") == 0) {
        o.mode = mode_storm;
        o.connections = 64;
        o.rate = 0;
    } else if (strcmp(mode, "multiplex") == 0) {
        o.mode = mode_multiplex;
        o.connections = 64;
        o.rate = 2000;
    } else {
        wrong("no mode '%s%s'", mode, "");
    }
    return o;
}

options options_parse(int count, char *arguments[]) {
    if (count < 2 || strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0) {
        fputs(usage, count < 2 ? stderr : stdout);
        exit(count < 2 ? 2 : 0);
    }
    options o = defaults(arguments[1]);
    for (int i = 2; i < count; i++) {
        const char *name = arguments[i];
        if (strcmp(name, "--may-conflate") == 0) {
            o.may_conflate = true;
            continue;
        }
        if (strcmp(name, "--expect-overflow") == 0) {
            o.expect_overflow = true;
            continue;
        }
        if (strcmp(name, "--nchan") == 0) {
            o.nchan = true;
            continue;
        }
        if (i + 1 == count) wrong("no option '%s', or its value is missing%s", name, "");
        const char *value = arguments[++i];
        if (strcmp(name, "--host") == 0) o.host = value;
        else if (strcmp(name, "--json") == 0) o.json = value;
        else if (strcmp(name, "--keep") == 0) o.keep = value;
        else if (strcmp(name, "--tokens") == 0) o.tokens = value;
        else if (strcmp(name, "--port") == 0) o.port = (uint16_t)whole(name, value, 1, 65535);
        else if (strcmp(name, "--connections") == 0) o.connections = whole(name, value, 1, 10000);
        else if (strcmp(name, "--rate") == 0) o.rate = number(name, value, 0, 1e6);
        else if (strcmp(name, "--seconds") == 0) o.seconds = number(name, value, 0.1, 3600);
        else if (strcmp(name, "--warmup") == 0) o.warmup = number(name, value, 0, 600);
        else if (strcmp(name, "--drain") == 0) o.drain = number(name, value, 0.1, 600);
        else if (strcmp(name, "--streams") == 0) o.streams = whole(name, value, 1, 200000);
        else if (strcmp(name, "--clients") == 0) o.clients = whole(name, value, 1, 20000);
        else if (strcmp(name, "--rounds") == 0) o.rounds = whole(name, value, 1, 10000);
        else if (strcmp(name, "--seed") == 0) o.seed = (uint64_t)whole(name, value, 0, 4294967295.0);
        else if (strcmp(name, "--feature") == 0) o.feature = value;
        else if (strcmp(name, "--active") == 0) o.active = whole(name, value, 1, 200000);
        else if (strcmp(name, "--features") == 0) o.features = whole(name, value, 1, 32);
        else if (strcmp(name, "--at-once") == 0) o.at_once = whole(name, value, 1, 200000);
        else if (strcmp(name, "--pid") == 0) o.pid = whole(name, value, 1, 4194304);
        else if (strcmp(name, "--sessions") == 0) o.sessions = whole(name, value, 1, 100000);
        else wrong("no option '%s' (value '%s')", name, value);
    }
    if (o.port == 0) wrong("%s is missing%s", "--port", "");
    return o;
}
