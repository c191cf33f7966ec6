"""Judges the samples. Each bound is stated here, and printed beside what was found."""

import statistics

# The server checkpoints from 16 MB on, and a log that a reader held is cut to 64 MiB afterwards (docs/journal.md).
WAL_MIB = 72
# Descriptors that may be open beside those of the start, once all clients have left.
SPARE_DESCRIPTORS = 2
# Until then tables, caches and the allocator fill, as guests come faster than their sessions expire. Seconds.
WARM = 180
# From this length on the long life is judged by the narrow bounds. Seconds.
LONG = 500
# How much memory may grow over the second half of the long life, by the slope of its samples; below LONG twice that.
# MiB.
SECOND_HALF = 7.5


def growth_bound(seconds):
    """How much the last tenth of a life may have over an early one: a factor, and MiB beside it."""
    return (1.10, 4.0) if seconds >= LONG else (1.20, 8.0)


def part(samples, first, last):
    """The samples between two parts of the time that they span."""
    begin, end = samples[0].at, samples[-1].at
    span = end - begin
    return [each for each in samples if begin + first * span <= each.at <= begin + last * span]


def early_tenth(samples):
    """The second tenth of a life, or a later one that is not begun before the life is warm."""
    first = max(0.1, min(0.4, WARM / max(1.0, samples[-1].age)))
    return part(samples, first, first + 0.1)


def median(samples, name):
    values = [value for each in samples if (value := getattr(each, name)) is not None]
    return statistics.median(values) if values else None


def slope(samples, name):
    """The median of the slopes between a half's samples and those of the other half (Theil and Sen), an hour."""
    middle = len(samples) // 2
    slopes = [
        (getattr(late, name) - getattr(early, name)) / (late.at - early.at)
        for early, late in zip(samples[:middle], samples[middle:]) if late.at > early.at]
    return statistics.median(slopes) * 3600 if slopes else 0.0


class Verdict:
    def __init__(self, sampler, figures):
        self.sampler, self.figures = sampler, figures

    def _hold(self, name, found, bound, unit=""):
        self.figures.show(name, f"{found:.1f}{unit}, at most {bound:.1f}{unit}")
        if found > bound:
            self.figures.fault(f"{name}: {found:.1f}{unit} is more than {bound:.1f}{unit}")

    def judge_long_life(self, number):
        """Flatness of one life without a restart, which would hide what grows."""
        samples = self.sampler.of(number)
        if len(samples) < 20:
            self.figures.fault(f"the long life has {len(samples)} samples, too few to judge it by")
            return
        early, last = early_tenth(samples), part(samples, 0.9, 1)
        seconds = samples[-1].age
        factor, more = growth_bound(seconds)
        self.figures.show("the long life", f"{seconds:.0f} s, {len(samples)} samples; medians of an early "
                                            f"tenth, from {early[0].age:.0f} s on, and of the last:")
        for name, title in (("rss", "resident memory"), ("rss_anon", "of it anonymous")):
            before, after = median(early, name), median(last, name)
            self.figures.show(f"  {title}", f"{before:.1f} and {after:.1f} MiB")
            late = slope(part(samples, 0.5, 1), name)
            self._hold(f"  its growth in the second half ({late:+.0f} MiB an hour)",
                       late * seconds / 2 / 3600, SECOND_HALF * (1 if seconds >= LONG else 2), " MiB")
            self._hold(f"  {title} at the end", after, before * factor + more, " MiB")
        before, after = median(early, "database"), median(last, "database")
        self._hold(f"  database (before: {before:.1f} MiB)", after, before * 1.2 + 4, " MiB")
        before, after = max(each.descriptors for each in early), median(last, "descriptors")
        self._hold(f"  descriptors (before: {before:.0f})", after, before * 1.1 + 20)
        # The pool of threads is filled by the first load.
        warm = [each for each in samples if each.at >= early[0].at]
        self._hold("  threads at most", max(each.threads for each in warm), max(each.threads for each in early) + 1)

    def judge_lives(self, numbers):
        """Short lives of the same length: none may begin with more than those before it."""
        lives = [samples for number in numbers if len(samples := self.sampler.of(number)) >= 4]
        if len(lives) < 4:
            return
        ends = [median(part(samples, 0.5, 1), "rss") for samples in lives]
        self.figures.show("short lives, memory of each", ", ".join(f"{end:.0f}" for end in ends) + " MiB")
        half = len(ends) // 2
        before = statistics.median(ends[:half])
        self._hold("  median of the later half", statistics.median(ends[half:]), before * 1.15 + 4, " MiB")

    def judge_files(self):
        samples = self.sampler.samples
        self._hold("write-ahead log at most", max((each.wal for each in samples), default=0), WAL_MIB, " MiB")
        self.figures.show("database at most", f"{max((each.database for each in samples), default=0):.1f} MiB")

    def show_load(self, seconds):
        samples = self.sampler.samples
        under_load = [each for each in samples if each.at <= self.sampler.left]
        warm = [each for each in under_load if each.age > 5] or samples
        cpu = [each.cpu for each in warm]
        mean = sum(cpu) / max(1, len(cpu))
        self.figures.show(
            "server's processor", f"{mean * 100:.0f} % of one core on average, at most {max(cpu) * 100:.0f} %")
        self.figures.show("descriptors at most", str(max(each.descriptors for each in samples)))
        self.figures.show("samples", f"{len(samples)} in {seconds:.0f} s")
