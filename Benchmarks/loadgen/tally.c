#include "tally.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "net.h"

static struct {
    const char *name, *unit;
    double value;
} figures[64];
static unsigned figure_count;

void tally_violation(tally *tally, const char *format, ...) {
    if (tally->violations++ >= 10) return;
    va_list arguments;
    va_start(arguments, format);
    fputs("violation: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

void tally_forget_latencies(tally *tally) {
    memset(&tally->answer, 0, sizeof tally->answer);
    memset(&tally->event, 0, sizeof tally->event);
}

uint64_t tally_faults(const tally *t, bool may_conflate) {
    return (may_conflate ? 0 : t->skipped) + t->http_errors + t->duplicated + t->reordered + t->mismatched
        + t->labels_missing + t->labels_duplicated + t->labels_reordered + t->replayed + t->cut + t->violations;
}

void note(const char *name, double value, const char *unit) {
    if (figure_count == sizeof figures / sizeof *figures) fail("no room for the figure %s", name);
    figures[figure_count].name = name;
    figures[figure_count].unit = unit;
    figures[figure_count++].value = value;
}

static double seconds_of(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) fail("--pid: there is no such process any more");
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

usage usage_now(unsigned pid) {
    // All threads of the server's, the ended ones too, to the nanosecond.
    clockid_t server = CLOCK_PROCESS_CPUTIME_ID;
    if (pid && clock_getcpuclockid((pid_t)pid, &server) != 0) fail("--pid %u: there is no such process", pid);
    // Since 1970, to match a sampler's times.
    return (usage){seconds_of(CLOCK_REALTIME), seconds_of(CLOCK_PROCESS_CPUTIME_ID), pid ? seconds_of(server) : 0};
}

usage usage_since(usage before, unsigned pid) {
    usage now = usage_now(pid);
    note("startedAt", before.at, "unix s");
    note("endedAt", now.at, "unix s");
    return (usage){now.at - before.at, now.generator - before.generator, now.server - before.server};
}

void note_usage(usage used, const char *each, double count) {
    note("generatorCores", used.generator / used.at, "");
    note("serverCores", used.server / used.at, "");
    note(each, count > 0 ? used.server * 1e6 / count : 0, "us of the server's");
}

uint64_t server_kib(unsigned pid, bool settled) {
    char path[64], line[256];
    u64 kib = 0;
    for (uint64_t until = settled ? after(0.5) : 0; now_ns() < until;) network_turn(until);
    if (pid == 0) return 0;
    snprintf(path, sizeof path, "/proc/%u/smaps_rollup", pid);
    FILE *file = fopen(path, "r");
    if (!file) fail("--pid %u: cannot read %s", pid, path);
    while (fgets(line, sizeof line, file) && sscanf(line, "Rss: %llu kB", &kib) != 1) {}
    fclose(file);
    return kib;
}

static double ms(const histogram *histogram, double quantile) {
    return (double)histogram_quantile(histogram, quantile) / 1e6;
}

static void show_latency(const char *name, const histogram *histogram, FILE *file) {
    static const struct { const char *name; double quantile; } quantiles[] = {
        {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1},
    };
    if (histogram->count) printf("%-24s", name);
    if (file) fprintf(file, ",\"%s\":{\"count\":%llu", name, (u64)histogram->count);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        double value = ms(histogram, quantiles[i].quantile);
        if (histogram->count) printf(" %s %.3f ", quantiles[i].name, value);
        if (file) fprintf(file, ",\"%s\":%.6f", quantiles[i].name, value);
    }
    if (histogram->count) puts("");
    if (!file) return;
    // For a plot, eight even steps for each digit of what is beyond: 1, ..., 1/10, ..., 1/100,000.
    fputs(",\"curve\":[", file);
    double beyond = 1;
    for (int step = 0; histogram->count && step <= 40; step++, beyond *= 0.7498942093324559) {
        fprintf(file, "%s[%.7f,%.6f]", step ? "," : "", 1 - beyond, ms(histogram, 1 - beyond));
    }
    fputs("]}", file);
}

int report(const char *mode, const tally *tally, const char *path, bool passed) {
#define COUNT(name) if (tally->name) note(#name, (double)tally->name, "");
    TALLY_COUNTS(COUNT)
#undef COUNT
    FILE *file = path ? fopen(path, "w") : NULL;
    if (path && !file) fail("cannot write %s: %s", path, strerror(errno));
    if (file) fprintf(file, "{\"mode\":\"%s\",\"passed\":%s", mode, passed ? "true" : "false");
    for (unsigned i = 0; i < figure_count; i++) {
        double value = figures[i].value;
        printf("%-24s %.*f %s\n", figures[i].name, value == (double)(int64_t)value ? 0 : 3, value, figures[i].unit);
        if (file) fprintf(file, ",\"%s\":%.6f", figures[i].name, value);
    }
    for (int status = 0; status < 600; status++) {
        if (tally->statuses[status]) printf("%-24d %llu answers\n", status, (u64)tally->statuses[status]);
    }
    show_latency("answerMs", &tally->answer, file);
    show_latency("eventMs", &tally->event, file);
    printf("%s: %s\n", mode, passed ? "everything held" : "FAILED");
    if (file && (fputs("}\n", file) < 0 || fclose(file) != 0)) fail("cannot write %s: %s", path, strerror(errno));
    return passed ? 0 : 1;
}
