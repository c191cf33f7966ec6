#include "tally.h"

#include <stdarg.h>
#include <string.h>

typedef unsigned long long u64;

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

uint64_t tally_faults(const tally *t, int may_conflate) {
    return (may_conflate ? 0 : t->skipped) + t->http_errors + t->duplicated + t->reordered + t->mismatched
        + t->labels_missing + t->labels_duplicated + t->labels_reordered + t->replayed + t->cut + t->violations;
}

static const struct {
    const char *name;
    double quantile;
} quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};

static void print_latency(const char *name, const histogram *histogram, FILE *file) {
    fprintf(file, "%-16s", name);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        fprintf(
            file, "  %s %8.3f ms", quantiles[i].name,
            (double)histogram_quantile(histogram, quantiles[i].quantile) / 1e6);
    }
    fprintf(file, "  max %8.3f ms  (%llu)\n", (double)histogram->maximum / 1e6, (u64)histogram->count);
}

void tally_print_answers(const tally *t, FILE *file) {
    for (int status = 0; status < 600; status++) {
        if (t->statuses[status]) fprintf(file, "                 %llu answers %d\n", (u64)t->statuses[status], status);
    }
}

void tally_print(const tally *t, FILE *file) {
    fprintf(
        file, "intents          %llu posted, %llu accepted, %llu HTTP errors, %llu reconnects\n", (u64)t->posted,
        (u64)t->accepted, (u64)t->http_errors, (u64)t->reconnects);
    tally_print_answers(t, file);
    fprintf(
        file, "states           %llu shown, %llu matched, %llu skipped, %llu duplicated, %llu out of order, %llu mismatched\n",
        (u64)t->states, (u64)t->matched, (u64)t->skipped, (u64)t->duplicated, (u64)t->reordered, (u64)t->mismatched);
    fprintf(
        file, "labels           %llu shown, %llu missing, %llu duplicated, %llu out of order, %llu replayed\n",
        (u64)t->labels, (u64)t->labels_missing, (u64)t->labels_duplicated, (u64)t->labels_reordered,
        (u64)t->replayed);
    fprintf(
        file, "streams          %llu resets (%llu labels lost to them), %llu goaways, %llu pings, %llu cut, %llu other violations\n",
        (u64)t->resets, (u64)t->labels_lost, (u64)t->goaways, (u64)t->pings, (u64)t->cut, (u64)t->violations);
    if (t->answer.count) print_latency("POST to answer", &t->answer, file);
    if (t->event.count) print_latency("POST to event", &t->event, file);
}

static void write_latency(const char *name, const histogram *histogram, FILE *file) {
    fprintf(file, ",\"%s\":{\"count\":%llu", name, (u64)histogram->count);
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        fprintf(
            file, ",\"%s\":%.6f", quantiles[i].name,
            (double)histogram_quantile(histogram, quantiles[i].quantile) / 1e6);
    }
    fprintf(file, ",\"max\":%.6f,\"curve\":[", (double)histogram->maximum / 1e6);
    // For a plot, eight even steps for each digit of what is beyond: 1, ..., 1/10, ..., 1/100,000.
    double beyond = 1;
    for (int step = 0; histogram->count && step <= 40; step++, beyond *= 0.7498942093324559) {
        fprintf(
            file, "%s[%.7f,%.6f]", step ? "," : "", 1 - beyond,
            (double)histogram_quantile(histogram, 1 - beyond) / 1e6);
    }
    fputs("]}", file);
}

void tally_write_json(const tally *t, FILE *file) {
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        {"posted", t->posted},
        {"accepted", t->accepted},
        {"httpErrors", t->http_errors},
        {"reconnects", t->reconnects},
        {"states", t->states},
        {"matched", t->matched},
        {"skipped", t->skipped},
        {"duplicated", t->duplicated},
        {"outOfOrder", t->reordered},
        {"mismatched", t->mismatched},
        {"labels", t->labels},
        {"labelsMissing", t->labels_missing},
        {"labelsDuplicated", t->labels_duplicated},
        {"labelsOutOfOrder", t->labels_reordered},
        {"labelsLostToResets", t->labels_lost},
        {"replayed", t->replayed},
        {"resets", t->resets},
        {"goaways", t->goaways},
        {"pings", t->pings},
        {"cut", t->cut},
        {"violations", t->violations},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        fprintf(file, "%s\"%s\":%llu", i ? "," : "", counts[i].name, (u64)counts[i].value);
    }
    write_latency("answerMs", &t->answer, file);
    write_latency("eventMs", &t->event, file);
}
