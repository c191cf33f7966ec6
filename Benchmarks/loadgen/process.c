#include "process.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common.h"

double process_cpu_seconds(unsigned pid) {
    clockid_t clock;
    struct timespec time;
    if (pid == 0) return 0;
    if (clock_getcpuclockid((pid_t)pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
        fail("--pid %u: there is no such process (any more)", pid);
    }
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

uint64_t process_rss_kib(unsigned pid) {
    char path[64], line[256];
    unsigned long long kib = 0;
    if (pid == 0) return 0;
    snprintf(path, sizeof path, "/proc/%u/smaps_rollup", pid);
    FILE *file = fopen(path, "r");
    if (!file) fail("--pid %u: cannot read %s", pid, path);
    while (fgets(line, sizeof line, file) && sscanf(line, "Rss: %llu kB", &kib) != 1) {}
    fclose(file);
    return kib;
}

uint64_t process_settled_kib(unsigned pid, network *network) {
    uint64_t until = now_ns() + 500000000u;
    while (now_ns() < until) network_turn(network, until);
    return process_rss_kib(pid);
}
