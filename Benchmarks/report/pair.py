"""Prints medians of two servers' rounds, and the medians of the rounds' ratios.

pair.py FOLDER FIRST SECOND. The folder has JOURNAL.NAME.ROUND.json of Benchmarks/loadgen, and counted.NAME.SECONDS with the
instructions of a whole run.
"""

import json
import statistics
import sys
from pathlib import Path

FIGURES = [
    ("intents a second", lambda run: run["intentsPerSecond"]),
    ("processor time an intent, µs", lambda run: run["cpuPerIntent"]),
    ("memory of a session with store and stream, bytes", lambda run: (run["rssOpen"] - run["rssEmpty"]) * 1024 / run["streams"]),
    ("answer p99, ms", lambda run: run["answerMs"]["p99"]),
]


def rounds(folder, journal, name):
    found = {}
    for path in folder.glob(f"{journal}.{name}.*.json"):
        try:
            found[int(path.name.split(".")[2])] = json.loads(path.read_text())
        except json.JSONDecodeError:
            print(f"pair: {path.name} is not whole and is left out", file=sys.stderr)
    return found


def instructions(folder, name):
    """Of one intent: what a long run took more than a short one, by the number of intents."""
    counts = []
    for seconds in (2, 8):
        counted = (folder / f"counted.{name}.{seconds}").read_text().split()
        run = json.loads((folder / f"counted.{name}.{seconds}.json").read_text())
        counts.append((int(counted[-1]), run["answerMs"]["count"]))
    (few, short), (many, long) = counts
    return (many - few) / (long - short)


def line(what, first, second, ratio):
    print(f"{what:62}{first:>12,.1f}{second:>12,.1f}{ratio:>10.3f}")


def main():
    folder, first, second = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    print(f"A is {first}\nB is {second}\nmedians; B / A is the median of the rounds' ratios\n")
    print(f"{'':62}{'A':>12}{'B':>12}{'B / A':>10}")
    for journal in ("memory", "sqlite"):
        runs = [rounds(folder, journal, name) for name in ("first", "second")]
        both = sorted(set(runs[0]) & set(runs[1]))
        for what, figure in FIGURES:
            pairs = [(figure(runs[0][number]), figure(runs[1][number])) for number in both]
            if pairs:
                line(f"{journal}: {what}", *(statistics.median(values) for values in zip(*pairs)),
                     statistics.median(b / a for a, b in pairs if a))
    try:
        counts = [instructions(folder, name) for name in ("first", "second")]
    except (OSError, ValueError, IndexError, KeyError, ZeroDivisionError) as error:
        print(f"pair: instructions were not counted: {error!r}", file=sys.stderr)
        sys.exit(1)
    line("memory: instructions an intent, one run under callgrind", *counts, counts[1] / counts[0])


if __name__ == "__main__":
    main()
