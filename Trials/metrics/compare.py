"""Holds the counts of /metrics against those of the load tool that made them.

usage: compare.py LOAD.json METRICS.txt UNDER_LOAD.txt
"""

import json
import re
import sys


def read(path):
    """{(name, frozenset of (label, value)): number} of a page in Prometheus' text."""
    series = {}
    for line in open(path, encoding="utf-8"):
        found = re.fullmatch(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)\n", line)
        if found:
            labels = frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found[2] or ""))
            series[found[1], labels] = float(found[3])
    return series


def total(series, name, **labels):
    wanted = set(labels.items())
    return int(sum(value for (found, has), value in series.items() if found == name and wanted <= has))


def main():
    load, after, under_load = json.load(open(sys.argv[1], encoding="utf-8")), read(sys.argv[2]), read(sys.argv[3])

    def count(name):
        """What the load tool counted; it leaves out what never happened."""
        return int(load.get(name, 0))

    shown = [
        ("intents accepted", count("accepted"), total(after, "mvi_intents_total", outcome="committed")),
        (
            "intents that were not", count("http_errors"),
            total(after, "mvi_intents_total") - total(after, "mvi_intents_total", outcome="committed"),
        ),
        ("turns of intents", count("accepted"), total(after, "mvi_turns_total", kind="intent")),
        ("answers to intents", count("posted"), total(after, "mvi_request_duration_seconds_count", route="sendIntent")),
        ("states", count("states"), total(after, "mvi_events_total", type="state")),
        ("labels", count("labels"), total(after, "mvi_events_total", type="label")),
        ("labels replayed", count("replayed"), total(after, "mvi_labels_replayed_total")),
        ("resets", count("resets"), total(after, "mvi_stream_resets_total")),
    ]
    print(f"{'':24}{'load tool':>12}{'/metrics':>12}")
    differ = 0
    for name, own, served in shown:
        differ += own != served
        print(f"{name:24}{own:>12}{served:>12}{'' if own == served else '  differ'}")
    # What grows only grows, and the page under load is one of its moments.
    for (name, labels), value in under_load.items():
        if name.endswith(("_total", "_count", "_bucket", "_sum")) and after.get((name, labels), 0) < value:
            differ += 1
            print(f"{name} {sorted(labels)} went back from {value} to {after.get((name, labels))}")
    print(f"under load: {total(under_load, 'mvi_intents_total')} intents, {total(under_load, 'mvi_streams_open')} streams open")
    return 1 if differ else 0


sys.exit(main())
