#include "measure.h"

#include <string.h>

#include "common.h"
#include "pacer.h"
#include "process.h"

static const uint64_t patience = 30000000000ull;

void measure(measurement *found, fleet *fleet, const options *options) {
    pacer pacer;
    found->open_kib = process_settled_kib(options->pid, &fleet->network);
    if (options->warmup > 0) {
        pacer_start(&pacer, fleet, options->rate, options->warmup);
        while (pacer_turn(&pacer, pacer.end_ns + 2 * patience)) {}
        pacer_free(&pacer);
        tally_forget_latencies(fleet->tally);
    }
    uint64_t accepted_before = fleet->tally->accepted;
    double cpu_before = own_cpu_seconds(), server_before = process_cpu_seconds(options->pid);
    found->started = unix_seconds();
    pacer_start(&pacer, fleet, options->rate, options->seconds);
    bool stuck = false;
    while (!stuck && pacer_turn(&pacer, pacer.end_ns + patience)) stuck = now_ns() > pacer.end_ns + patience;
    found->ended = unix_seconds();
    found->generator_cpu = own_cpu_seconds() - cpu_before;
    found->server_cpu = process_cpu_seconds(options->pid) - server_before;
    found->end_kib = process_rss_kib(options->pid);
    if (stuck) {
        tally_violation(fleet->tally, "%u intents were not answered in 30 s", fleet->poster_count - pacer.free_count);
    }
    found->accepted = (double)(fleet->tally->accepted - accepted_before);
    found->latest_ns = pacer.latest_ns;
    pacer_free(&pacer);
}

void measure_figures(const measurement *found, unsigned streams, figure figures[]) {
    double seconds = found->ended - found->started;
    figure all[measured_figures] = {
        {"streams", streams, ""},
        {"startedAt", found->started, "unix s"},
        {"endedAt", found->ended, "unix s"},
        {"intentsPerSecond", found->accepted / seconds, "accepted"},
        {"latestSendMs", (double)found->latest_ns / 1e6, "after it was due"},
        {"generatorCPU", found->generator_cpu, "s"},
        {"generatorCores", found->generator_cpu / seconds, ""},
        {"serverCores", found->server_cpu / seconds, ""},
        {"cpuPerIntent", found->accepted > 0 ? found->server_cpu * 1e6 / found->accepted : 0, "us of the server's"},
        {"rssEmpty", (double)found->empty_kib, "KiB"},
        {"rssOpen", (double)found->open_kib, "KiB"},
        {"rssEnd", (double)found->end_kib, "KiB"},
    };
    memcpy(figures, all, sizeof all);
}
