#!/usr/bin/env python3
"""Writes Benchmarks/report.txt (not in git) and its plots from the results of script/bench.

    report.py RESULTS BENCHMARKS
    report.py RESULTS --unsteady SCENARIO VARIANT     exit code 0 if its targets need more rounds
"""

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import plot  # noqa: E402
import targets  # noqa: E402

NAMES = {
    "limit": "libmicrohttpd in C", "mvi": "mvi-server, memory", "mvi-sized": "mvi-server, memory",
    "mvi-sqlite": "mvi-server, SQLite", "mvi-postgres": "mvi-server, PostgreSQL",
    "hummingbird": "Hummingbird 2", "hummingbird-sqlite": "Hummingbird 2, SQLite",
    "node": "Node http", "node-sqlite": "Node http, SQLite", "node-postgres": "Node http, PostgreSQL",
    "nchan": "nchan", "sqlite": "SQLite", "postgres": "PostgreSQL",
}
ORDER = list(NAMES)


class Results:
    """The newest rounds of each server, and the medians of their figures."""

    def __init__(self, folder):
        self.folder = Path(folder)
        machine = self.folder / "machine.txt"
        lines = machine.read_text().splitlines() if machine.exists() else []
        self.machine = {name: value for name, _, value in (line.partition(" ") for line in lines)}
        found = defaultdict(dict)
        for path in self.folder.glob("*.*.*.*.json"):
            scenario, variant, server, number, _ = path.name.split(".")
            try:
                found[scenario, variant, server][int(number)] = json.loads(path.read_text())
            except json.JSONDecodeError:
                print(f"report: {path} is not whole and is left out", file=sys.stderr)
        newest = -int(self.machine["rounds"])
        self.runs = {where: {number: runs[number] for number in sorted(runs)[newest:]} for where, runs in found.items()}

    def rounds(self, scenario, variant):
        return sorted({number for (*where, _), runs in self.runs.items() if where == [scenario, variant] for number in runs})

    def figure(self, number, scenario, variant, server, figure):
        """Of one round; KeyError if it was not measured."""
        value = self.runs[scenario, variant, server][number]
        for part in figure.split("/"):
            value = value[part]
        return value

    def busy(self):
        """How many runs began while others used more than a fifth of a core, and how many there are."""
        noted = self.folder / "others.txt"
        cores = dict(line.split() for line in noted.read_text().splitlines()) if noted.exists() else {}
        names = [".".join((*where, str(number))) for where, runs in self.runs.items() for number in runs]
        return sum(float(cores.get(name, 0)) > 0.2 for name in names), len(names)

    def variants(self, scenario):
        found = {variant for one, variant, _ in self.runs if one == scenario}
        return sorted(found, key=lambda variant: (int(variant) if variant.isdigit() else 0, variant))

    def servers(self, scenario, variant):
        return sorted((s for a, v, s in self.runs if (a, v) == (scenario, variant)), key=ORDER.index)

    def values(self, scenario, variant, server, figure):
        found = []
        for number in self.runs.get((scenario, variant, server), []):
            try:
                found.append(self.figure(number, scenario, variant, server, figure))
            except KeyError:
                pass
        return found

    def median(self, *where):
        values = self.values(*where)
        return statistics.median(values) if values else None

    def spread(self, *where):
        values = self.values(*where)
        return (min(values), max(values)) if values else None

    def all_held(self, scenario, variant, server):
        return all(run["passed"] for run in self.runs[scenario, variant, server].values())


def text(value, digits=None):
    if value is None:
        return "–"
    if digits is None:
        digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}"


def with_spread(results, *where, scale=1):
    value, spread = results.median(*where), results.spread(*where)
    if value is None:
        return "–"
    if len(results.values(*where)) < 2:
        return text(value * scale)
    return f"{text(value * scale)} ({text(spread[0] * scale)}–{text(spread[1] * scale)})"


def ratio(one, other):
    return one / other if one is not None and other else None


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def idle_variants(results):
    variants = [v for v in results.variants("idle") if v.isdigit()]
    return (variants[0], variants[-1]) if len(variants) > 1 else (None, None)


def per_stream(results, scenario, variant, server):
    """KiB above the empty server."""
    empty, opened = (results.median(scenario, variant, server, f) for f in ("rssEmpty", "rssOpen"))
    return (opened - empty) / int(variant) if opened is not None else None


def target_section(results):
    busy, runs = results.busy()
    lines = ["## Targets", ""]
    if results.machine["short"]:
        lines += ["**A short run to see that everything works: its figures mean nothing.**", ""]
    if busy > runs / 20:
        lines += [f"**Provisional: others used more than a fifth of a core before {busy} of {runs} runs.**", ""]
    return lines + [
        f"Medians of the newest {results.machine['rounds']} rounds; ratios are those of each round. The spread is between the least "
        f"and the most, in % of the median; it was still {targets.STEADY} or more where a target is unsteady.", "",
    ] + table(("target", "bound", "median", "spread %", ""), [each.row(results) for each in targets.all_targets(results)])


def figures(results, scenario, variant, columns):
    """A table with a row for each server. `columns`: (header, figure, how), which is text()'s digits, "spread" or "of C"."""
    rows = []
    for server in results.servers(scenario, variant):
        where, row = (scenario, variant, server), []
        for _, figure, how in columns:
            if how == "spread":
                row.append(with_spread(results, *where, figure))
            elif how == "of C":
                row.append(text(ratio(results.median(*where, figure), results.median(scenario, variant, "limit", figure)), 2))
            else:
                row.append(text(results.median(*where, figure), how))
        rows.append((NAMES[server] + ("" if results.all_held(*where) else " †"), *row))
    return table(("server", *(header for header, _, _ in columns)), rows)


def streams_of(results, scenario):
    servers = results.servers(scenario, "all")
    return f"{results.median(scenario, 'all', servers[0], 'streams'):,.0f}" if servers else None


LOAD = (
    ("intents/s", "intentsPerSecond", "spread"), ("of C", "intentsPerSecond", "of C"),
    ("CPU µs an intent", "cpuPerIntent", "spread"), ("its cores", "serverCores", 2), ("generator's", "generatorCores", 2),
    ("answer p50 ms", "answerMs/p50", 2), ("p99", "answerMs/p99", 2), ("event p50 ms", "eventMs/p50", 2),
    ("p99", "eventMs/p99", 2),
)
FANOUT = (
    ("events/s", "eventsPerSecond", "spread"), ("of C", "eventsPerSecond", "of C"),
    ("CPU µs an event", "cpuPerEvent", "spread"), ("to the last stream p50 ms", "lastP50", None), ("p99", "lastP99", None),
    ("generator's cores", "generatorCores", 2),
)
STORM = (
    ("s until all are back", "secondsUntilAllAreBack", "spread"), ("streams/s", "streamsPerSecond", "spread"),
    ("CPU µs a stream", "cpuPerStream", "spread"), ("p50 ms", "eventMs/p50", None), ("p99 ms", "eventMs/p99", None),
)


JOURNALS = (
    ("appends/s", "appendsPerSecond", "spread"), ("p50 ms", "p50", 2), ("p99 ms", "p99", 2),
    ("appends a transaction", "appendsATransaction", 0),
)


def closed_section(results, plots):
    variants = results.variants("closed")
    if not variants:
        return []
    lines = [
        "## Closed loop", "",
        "64 connections, each posting again as soon as it is answered, over sessions with a stream each. Where two intents of one session are under way at once its stream may show the newer state only.", "",
        f"![Throughput against streams]({plots}/throughput.svg)", "",
    ]
    for variant in variants:
        lines += [f"### {int(variant):,} streams", ""] + figures(results, "closed", variant, LOAD)
    return lines


def steady_section(results, plots):
    streams = streams_of(results, "steady")
    return [
        "## 2,000 intents a second", "",
        f"Over {streams} streams. Each intent is sent when it is due whatever became of those before it, and its latency counts from then.", "",
        f"![Latency from the POST to the event]({plots}/latency.svg)", "",
    ] + figures(results, "steady", "all", LOAD) if streams else []


def fanout_section(results, _):
    streams = streams_of(results, "fanout")
    return [
        "## Fan-out", "",
        f"One session with {streams} streams; the next intent is sent when all have shown the one before. nchan only forwards what is posted.", "",
    ] + figures(results, "fanout", "all", FANOUT) if streams else []


def idle_section(results, plots):
    few, many = idle_variants(results)
    if not many:
        return []
    rows = []
    for server in results.servers("idle", many):
        costs = [results.median("idle", v, server, "cpuPerIntent") for v in (few, many)]
        rates = [results.median("idle", v, server, "intentsPerSecond") for v in (few, many)]
        rows.append((
            NAMES[server], text(results.median("idle", many, server, "rssEmpty") / 1024),
            text(results.median("idle", many, server, "rssOpen") / 1024), text(per_stream(results, "idle", many, server), 2),
            *(with_spread(results, "idle", v, server, "cpuPerIntent") for v in (few, many)), text(ratio(costs[1], costs[0]), 2),
            text(rates[0]), text(rates[1]),
        ))
    return [
        "## Idle streams", "",
        f"Intents for 100 sessions in a closed loop, beside {int(many):,} sessions with an idle stream each, and beside none.", "",
        f"![Memory against streams]({plots}/memory.svg)", "",
    ] + table((
        "server", "MiB empty", f"MiB with {int(many):,}", "KiB each", f"CPU µs an intent, {int(few):,}", f"{int(many):,}", "growth",
        f"intents/s, {int(few):,}", f"{int(many):,}"), rows)


def storm_section(results, _):
    streams = streams_of(results, "storm")
    return [
        "## Reconnecting", "",
        f"{streams} streams come back at once with `Last-Event-ID`; each must resume, show its newest state and the one label that it missed. Times from the first connect.", "",
    ] + figures(results, "storm", "all", STORM) if streams else []


def size_section(results, _):
    lines = []
    for variant in results.variants("size"):
        lines += [f"### {int(variant):,} bytes", ""] + figures(results, "size", variant, LOAD)
    if not lines:
        return []
    return ["## State sizes", "", "Closed loop over 100 streams; streams may skip states here, as slow readers are allowed to.", ""] + lines


def multiplex_section(results, _):
    streams = streams_of(results, "multiplex")
    return [
        "## Multiplexed", "", f"{streams} sessions with a stream of ten features each, states of 200 bytes, closed loop.", "",
    ] + figures(results, "multiplex", "all", LOAD) if streams else []


def journals_section(results, _):
    lines = []
    for variant in results.variants("journals"):
        lines += [f"### {int(variant):,} tasks", ""] + figures(results, "journals", variant, JOURNALS)
    return ["## Journals alone", "", "Without a server; each task appends again as soon as its last append is committed.", ""] + lines if lines else []


def draw(results, folder):
    folder.mkdir(parents=True, exist_ok=True)
    closed = [v for v in results.variants("closed") if v.isdigit()]
    if len(closed) > 1:
        series = []
        for server in results.servers("closed", closed[0]):
            line = [(int(v), results.median("closed", v, server, "intentsPerSecond")) for v in closed]
            series.append((server, NAMES[server], [(x, y) for x, y in line if y]))
        ticks = [int(v) for v in closed]
        (folder / "throughput.svg").write_text(plot.chart(
            "Throughput against open streams", "open streams", "intents/s", series, log_x=True, x_ticks=ticks,
            x_names={tick: f"{tick:,}" for tick in ticks}))
    if results.variants("steady"):
        series = []
        for server in results.servers("steady", "all"):
            runs = results.runs["steady", "all", server].values()
            curves = [dict((round(q, 7), ms) for q, ms in run["eventMs"]["curve"]) for run in runs]
            # One in 10,000 is as far as a few thousand intents can tell.
            shares = [q for q in curves[0] if 1 - q >= 0.99e-4]
            line = [(1 / (1 - q), statistics.median(curve[q] for curve in curves if q in curve)) for q in shares]
            series.append((server, NAMES[server], [(x, max(y, 0.01)) for x, y in line if y > 0]))
        names = {1: "0", 10: "90 %", 100: "99 %", 1000: "99.9 %", 10000: "99.99 %"}
        (folder / "latency.svg").write_text(plot.chart(
            "POST to event at 2,000 intents a second", "share of intents that were at least as fast", "ms", series,
            log_x=True, log_y=True, x_ticks=list(names), x_names=names, markers=False))
    points = defaultdict(dict)
    for scenario in ("closed", "idle"):
        for variant in results.variants(scenario):
            for server in results.servers(scenario, variant):
                opened = results.median(scenario, variant, server, "rssOpen")
                if opened:
                    points[server][int(variant)] = opened / 1024
    series = [(s, NAMES[s], sorted(points[s].items())) for s in ORDER if len(points.get(s, {})) > 1]
    if series:
        (folder / "memory.svg").write_text(plot.chart(
            "Memory against open streams", "sessions with a store and a stream each", "MiB resident", series))


def machine_section(results):
    machine = results.machine
    return [
        "## The machine", "",
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memoryGiB']} GiB, {machine['system']}, Linux {machine['kernel']}; "
        f"Swift {machine['swift']}, libmicrohttpd {machine['libmicrohttpd']}, SQLite {machine['sqlite']}, "
        f"Hummingbird {machine['hummingbird'] or '2'}, PostgreSQL {machine['postgres']}, Node {machine['node']} (one process: its cluster shares no state), "
        f"nginx {machine['nginx']} with nchan {machine['nchan'] or 'of its distribution'}. "
        f"Commit {machine['commit']}, {machine['date']}.", "",
        f"Every figure is the median of {machine['rounds']} rounds of {machine['seconds']} s (in brackets the least and the most); "
        "within a round the servers took turns. "
        + ("The server had one core and the generator the other." if machine["pinned"] else
           "Server and generator shared both cores as the scheduler saw fit, all servers alike: where the generator needs a "
           "whole core, rates are bounded by it, and CPU per intent is the fairer comparison."), "",
        "CPU is the server process's own, user and kernel, all threads, without PostgreSQL's. Memory is resident (smaps_rollup). The generator "
        "checks that each event came once and in order; † marks a server of which a run did not pass that check.", "",
    ]


def main():
    results = Results(sys.argv[1])
    if sys.argv[2] == "--unsteady":
        here = [each for each in targets.all_targets(results) if [each.scenario, each.variant] == sys.argv[3:]]
        sys.exit(0 if any(each.spread(results) >= targets.STEADY for each in here) else 1)
    target = Path(sys.argv[2])
    if not results.runs:
        sys.exit(f"report: no results in {sys.argv[1]}")
    draw(results, target / "plots")
    lines = ["# Benchmarks", "", "Written by `script/bench`; do not edit.", ""]
    lines += target_section(results) + machine_section(results)
    for section in (
        closed_section, steady_section, fanout_section, idle_section, storm_section, size_section, multiplex_section,
        journals_section,
    ):
        lines += section(results, "plots")
    (target / "report.txt").write_text("\n".join(lines).rstrip() + "\n")
    print(f"wrote {target / 'report.txt'}")


if __name__ == "__main__":
    main()
