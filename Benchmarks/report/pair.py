"""Prints medians of two servers' rounds, and the medians of the rounds' ratios.

pair.py FOLDER FIRST SECOND. The folder has JOURNAL.NAME.ROUND.json of Benchmarks/loadgen, and instructions.NAME if they were
counted.
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
    counts = [folder / f"instructions.{name}" for name in ("first", "second")]
    if all(path.exists() for path in counts):
        before, now = (int(path.read_text()) for path in counts)
        line("memory: instructions of a request, under callgrind", before, now, now / before)


if __name__ == "__main__":
    main()
