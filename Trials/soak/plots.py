"""Plots of a run's samples, with the restarts marked, as PNG. Also alone: plots.py FOLDER, which has samples.csv."""

import csv
import json
import sys
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402, it reads the line above

COLOURS = ("#1d4ed8", "#c2410c", "#0f766e")
MARKS = {"SIGTERM": ("#6b7280", ":"), "SIGKILL": ("#dc2626", "--")}
PLOTS = [
    ("memory", "Memory of the server's process", "MiB", [("rss", "resident"), ("rss_anon", "of it anonymous")]),
    ("descriptors", "Open descriptors", "", [
        ("descriptors", "of the server"), ("client_streams", "streams of followers and guests"),
        ("server_streams", "streams, as the server says")]),
    ("threads", "Threads", "", [("threads", "of the server")]),
    ("files", "Files of the journal", "MiB", [("database", "database"), ("wal", "write-ahead log")]),
    ("intents", "Intents", "a second", [
        ("load_intents", "of the load tool, by run"), ("intents", "of followers and guests, answered at once"),
        ("server_intents", "all, as the server says")]),
    ("latency", "Intents of followers and guests, until answered", "ms", [
        ("p99_ms", "99 of 100"), ("p50_ms", "median")]),
    ("processor", "Processor time of the server", "of one core", [("cpu", "each interval")]),
]


def draw(folder):
    with open(folder / "samples.csv", newline="", encoding="ascii") as file:
        samples = list(csv.DictReader(file))
    restarts = json.loads((folder / "restarts.json").read_text(encoding="ascii"))
    written = []
    minutes = samples and float(samples[-1]["at"]) > 300
    for name, title, unit, lines in PLOTS:
        figure, axes = plt.subplots(figsize=(10, 4.2), dpi=110)
        for (column, label), colour in zip(lines, COLOURS):
            _draw_lives(axes, samples, column, label, colour, 60 if minutes else 1)
        for index, (at, how) in enumerate(restarts):
            colour, style = MARKS.get(how, ("#111827", "-"))
            is_first = how not in [each[1] for each in restarts[:index]]
            axes.axvline(at / (60 if minutes else 1), color=colour, linestyle=style, alpha=0.6, linewidth=1,
                         label=how if is_first else None)
        axes.set(title=title, ylabel=unit, xlabel="minutes" if minutes else "seconds")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.tight_layout()
        figure.savefig(folder / f"{name}.png")
        plt.close(figure)
        written.append(f"{name}.png")
    return written


def _draw_lives(axes, samples, column, label, colour, scale):
    """A line for each life, since a new process goes on from nothing."""
    for life in dict.fromkeys(sample["life"] for sample in samples):
        points = [(float(each["at"]) / scale, float(each[column])) for each in samples
                  if each["life"] == life and each.get(column)]
        if points:
            axes.plot(*zip(*points), color=colour, linewidth=1.3, label=label)
            label = None


if __name__ == "__main__":
    draw(pathlib.Path(sys.argv[1]))
