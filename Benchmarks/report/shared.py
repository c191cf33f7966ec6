"""Prints what a shared store costs: medians of the rounds, and ratios within each round."""

import json
import pathlib
import statistics
import sys


def value(folder, server, round_, name):
    path = folder / f"{server}.{round_}.json"
    return json.loads(path.read_text(encoding="utf-8"))[name] if path.exists() else None


def main():
    folder, streams = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    rounds = sorted({int(path.name.split(".")[1]) for path in folder.glob("*.json")})

    def grown(server, round_):
        """Bytes of memory for each stream."""
        empty, full = (value(folder, server, round_, name) for name in ("rssEmpty", "rssOpen"))
        return None if empty is None or full is None else (full - empty) * 1024 / streams

    def line(name, server, read, base):
        found = [(read(server, each), read(base, each)) for each in rounds]
        found = [(mine, other) for mine, other in found if mine and other]
        if not found:
            return print(f"{name:42} nothing measured")
        ratio = statistics.median(mine / other for mine, other in found)
        print(f"{name:42} {statistics.median(mine for mine, _ in found):12.0f}   {ratio:5.2f}")

    print(f"{'':42} {'':>12}   ratio")
    for server, title in (("mvi-sum", "one session"), ("mvi-shared", "shared"), ("mvi-ruled", "shared, with a rule")):
        line(f"events/s, {title}", server, lambda name, each: value(folder, name, each, "eventsPerSecond"), "mvi-sum")
    for server, title in (("own", "sessions with a store each"), ("mvi-shared", "shared"), ("mvi-ruled", "with a rule")):
        line(f"bytes a watcher, {title}", server, grown, "own")


if __name__ == "__main__":
    main()
