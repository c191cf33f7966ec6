#include "histogram.h"

static const uint64_t sub_buckets = 1u << histogram_sub_bits;

// Values below 128 have a bucket each. Above, the leading bit picks a group and the next seven bits the bucket in it.
static unsigned bucket_of(uint64_t value) {
    if (value < sub_buckets) return (unsigned)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - histogram_sub_bits;
    return (unsigned)(((uint64_t)(shift + 1) << histogram_sub_bits) + (value >> shift) - sub_buckets);
}

static uint64_t upper_edge(unsigned bucket) {
    if (bucket < sub_buckets) return bucket;
    unsigned shift = (bucket >> histogram_sub_bits) - 1;
    uint64_t mantissa = (bucket & (sub_buckets - 1)) + sub_buckets;
    return ((mantissa + 1) << shift) - 1;
}

void histogram_record(histogram *histogram, uint64_t nanoseconds) {
    histogram->buckets[bucket_of(nanoseconds)]++;
    histogram->count++;
    if (nanoseconds > histogram->maximum) histogram->maximum = nanoseconds;
}

uint64_t histogram_quantile(const histogram *histogram, double quantile) {
    if (histogram->count == 0) return 0;
    double exact = quantile * (double)histogram->count;
    uint64_t rank = (uint64_t)exact, seen = 0;
    if (rank == 0 || (double)rank < exact) rank++;
    for (unsigned bucket = 0; bucket < histogram_buckets; bucket++) {
        seen += histogram->buckets[bucket];
        if (seen < rank) continue;
        uint64_t edge = upper_edge(bucket);
        return edge < histogram->maximum ? edge : histogram->maximum;
    }
    return histogram->maximum;
}
