// Durations in log-linear buckets: 128 a power of two, so a value read back is at most 1 % too high, whatever its size.
#pragma once

#include <stdint.h>

enum { histogram_sub_bits = 7, histogram_buckets = (64 - histogram_sub_bits + 1) << histogram_sub_bits };

typedef struct {
    uint64_t count, maximum;
    uint64_t buckets[histogram_buckets];
} histogram;

void histogram_record(histogram *histogram, uint64_t nanoseconds);

/// The upper edge of the bucket that holds the quantile (0...1), never above the maximum; 0 when nothing was recorded.
uint64_t histogram_quantile(const histogram *histogram, double quantile);
