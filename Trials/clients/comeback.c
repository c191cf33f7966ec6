#include "comeback.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

// Counted by the handlers, so that none is missed.
static volatile sig_atomic_t went, listened;

static void take_signal(int number) {
    if (number == SIGUSR1) went++;
    else listened++;
}

void comeback_open(comeback *comeback, unsigned streams) {
    comeback->streams = comeback->back = streams;
    signal(SIGUSR1, take_signal);
    signal(SIGUSR2, take_signal);
}

void comeback_tick(comeback *comeback) {
    if ((unsigned)went > comeback->round) {
        unsigned streams = comeback->streams, round = comeback->round + 1;
        *comeback = (struct comeback){.streams = streams, .round = round, .went_ns = now_ns()};
    }
    if (!comeback->listens_ns && comeback->round && (unsigned)listened >= comeback->round) comeback->listens_ns = now_ns();
}

bool comeback_listens(const comeback *comeback) {
    return !comeback->round || (comeback->listens_ns && now_ns() > comeback->listens_ns + 200000000);
}

static double quantile_s(const comeback *comeback, double quantile) {
    unsigned seen = 0, slot = 0;
    while (slot < comeback_slots - 1 && (seen += comeback->returns[slot]) < quantile * comeback->streams) slot++;
    return (slot + 1) / 10.0;
}

static void show(const comeback *comeback, tally *tally) {
    unsigned peak = 0, second = 0;
    for (unsigned i = 0; i + 10 <= comeback_slots; i++) {
        unsigned sum = 0;
        for (unsigned n = 0; n < 10; n++) sum += comeback->returns[i + n];
        if (sum > second) second = sum;
        if (comeback->returns[i] > peak) peak = comeback->returns[i];
    }
    // Where none came back the server may not listen yet.
    uint64_t now = now_ns(), listens_ns = comeback->listens_ns ? comeback->listens_ns : now;
    printf("away                     %.2f s until a server listened\n",
        (double)(listens_ns - comeback->went_ns) / 1e9);
    printf("ends                     %llu with a goaway, %llu without\n", (u64)comeback->told, (u64)comeback->cut);
    printf("%u of %u streams back %.2f s after the server went, %.2f s after it listened\n", comeback->back, comeback->streams,
        (double)(now - comeback->went_ns) / 1e9, (double)(now - listens_ns) / 1e9);
    printf("spread                   10 %% back after %.1f s, half after %.1f s, 90 %% after %.1f s, 99 %% after %.1f s\n",
        quantile_s(comeback, 0.1), quantile_s(comeback, 0.5), quantile_s(comeback, 0.9), quantile_s(comeback, 0.99));
    printf("reconnects               %u in the fullest second, %u in the fullest tenth of one; in each second:", second, peak);
    for (unsigned i = 0, left = comeback->streams; i < comeback_slots && left; i += 10) {
        unsigned sum = 0;
        for (unsigned n = 0; n < 10; n++) sum += comeback->returns[i + n];
        printf(" %u", sum);
        left -= sum < left ? sum : left;
    }
    printf("\nrefused                  %llu connections while no server listened, %llu since; %llu streams\n",
        (u64)comeback->unreachable, (u64)comeback->unreachable_late, (u64)comeback->refused);
    printf("intents refused          %llu while no server listened, %llu since\n", (u64)comeback->intents_refused,
        (u64)comeback->intents_refused_late);
    fflush(stdout);
    if (comeback->unreachable_late) tally_violation(tally, "connections were refused though the server listened");
    if (comeback->intents_refused_late) tally_violation(tally, "intents were refused though the server listened");
    fprintf(stderr, "loadgen: round %u is over\n", comeback->round);
}

void comeback_returned(comeback *comeback, tally *tally) {
    uint64_t now = now_ns(), since = comeback->listens_ns ? now - comeback->listens_ns : 0;
    unsigned slot = (unsigned)(since / 100000000);
    comeback->returns[slot < comeback_slots ? slot : comeback_slots - 1]++;
    if (++comeback->back + comeback->refused == comeback->streams) show(comeback, tally);
}

void comeback_refused(comeback *comeback, tally *tally) {
    if (++comeback->refused + comeback->back == comeback->streams) show(comeback, tally);
}
