#include "report.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "common.h"

static const char *const mode_names[] = {"load", "vanish", "slow", "survive", "fanout", "storm", "multiplex"};

double own_cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec
        + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void write_json(
    const options *options, const tally *tally, const figure figures[], unsigned count, bool passed
) {
    FILE *file = fopen(options->json, "w");
    if (!file) fail("cannot write %s: %s", options->json, strerror(errno));
    fprintf(file, "{\"mode\":\"%s\",\"passed\":%s", mode_names[options->mode], passed ? "true" : "false");
    for (unsigned i = 0; i < count; i++) fprintf(file, ",\"%s\":%.6f", figures[i].name, figures[i].value);
    fputc(',', file);
    tally_write_json(tally, file);
    fputs("}\n", file);
    if (fclose(file) != 0) fail("cannot write %s: %s", options->json, strerror(errno));
}

int report(const options *options, const tally *tally, const figure figures[], unsigned count, bool passed) {
    for (unsigned i = 0; i < count; i++) {
        bool whole = figures[i].value == (double)(int64_t)figures[i].value;
        printf("%-24s %.*f %s\n", figures[i].name, whole ? 0 : 3, figures[i].value, figures[i].unit);
    }
    if (options->mode == mode_survive) tally_print_answers(tally, stdout);
    else tally_print(tally, stdout);
    printf("%s: %s\n", mode_names[options->mode], passed ? "everything held" : "FAILED");
    if (options->json) write_json(options, tally, figures, count, passed);
    return passed ? 0 : 1;
}
