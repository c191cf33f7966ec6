"""What the server shall reach. A target is judged by the median over the rounds of one scenario, or by each round."""

import statistics

DURABLE_PEERS = ("hummingbird-sqlite", "node-sqlite", "node-postgres")
# Per cent of the median between the least and the most of the rounds.
STEADY = 15


class Target:
    """`of_round` gets a round's figures as a function of server and figure, and returns a value. `kind`: the bound is the
    "least" or the "most" for the median, or what "always" has to be reached."""

    def __init__(self, text, scenario, variant, kind, bound, of_round):
        self.text, self.scenario, self.variant, self.kind, self.bound = text, scenario, variant, kind, bound
        self.of_round = of_round

    def values(self, results):
        found = []
        for number in results.rounds(self.scenario, self.variant):
            try:
                found.append(self.of_round(lambda *what: results.figure(number, self.scenario, self.variant, *what)))
            except (KeyError, ZeroDivisionError):
                pass  # a server was not measured in this round
        return found

    def spread(self, results):
        values = self.values(results)
        middle = statistics.median(values) if values else 0
        return 100 * (max(values) - min(values)) / middle if middle else 0

    def row(self, results):
        values = self.values(results)
        sign = "≤" if self.kind == "most" else "≥"
        if not values:
            return self.text, f"{sign} {self.bound:,}", "–", "–", "not measured"
        value, spread = statistics.median(values) if self.kind != "always" else min(values), self.spread(results)
        met = value <= self.bound if self.kind == "most" else value >= self.bound
        verdict = ("met" if met else "**missed**") + (", unsteady" if spread >= STEADY else "")
        return self.text, f"{sign} {self.bound:,}", f"{value:,.{0 if value >= 1000 else 2}f}", f"{spread:.0f}", verdict


def ratio(one, other, figure):
    return lambda of: of(one, figure) / of(other, figure)


def all_targets(results):
    found = []
    for streams in (each for each in results.variants("closed") if each != "1000"):
        def add(text, kind, bound, of_round):
            found.append(Target(f"{text}, {int(streams):,} streams", "closed", streams, kind, bound, of_round))

        rate = "intentsPerSecond"
        add("CPU an intent in memory, of C's", "most", 1.4, ratio("mvi", "limit", "cpuPerIntent"))
        add("intents/s in memory, of C's", "least", 0.75, ratio("mvi", "limit", rate))
        add("intents/s in memory, of Node's", "least", 1.8, ratio("mvi", "node", rate))
        add("intents/s in memory, of Hummingbird 2's", "least", 2.0, ratio("mvi", "hummingbird", rate))
        add("intents/s with SQLite, of Node's in memory", "least", 1.15, ratio("mvi-sqlite", "node", rate))
        add("intents/s with SQLite, of the best durable peer's", "least", 3.0,
            lambda of: of("mvi-sqlite", rate) / max(of(peer, rate) for peer in DURABLE_PEERS))
    found += [
        Target("CPU µs an intent at 2,000/s, SQLite", "steady", "all", "most", 120, lambda of: of("mvi-sqlite", "cpuPerIntent")),
        Target("POST to event at 2,000/s, SQLite, p50 ms", "steady", "all", "most", 0.6, lambda of: of("mvi-sqlite", "eventMs/p50")),
        Target("its p99, of the memory journal's", "steady", "all", "most", 1.5, ratio("mvi-sqlite", "mvi", "eventMs/p99")),
        Target("fan-out, events/s, of C's", "fanout", "all", "least", 0.9, ratio("mvi", "limit", "eventsPerSecond")),
    ]
    for server, name in (("mvi", "memory"), ("mvi-sqlite", "SQLite")):
        found.append(Target(
            f"share of the streams served that come back in one burst, {name}", "storm", "all", "always", 1,
            lambda of, server=server: of(server, "passed") * 1.0))
    idle = results.variants("idle")
    for server, name in (("mvi", "memory"), ("mvi-sqlite", "SQLite")) if len(idle) > 1 else ():
        found.append(Target(
            f"KiB an idle session with a store and a stream, {name}", "idle", idle[-1], "most", 2.0,
            lambda of, server=server: (of(server, "rssOpen") - of(server, "rssEmpty")) / int(idle[-1])))
    for tasks, bound in (("64", 40_000), ("1024", 60_000)):
        found.append(Target(
            f"PostgreSQL's journal alone, appends/s, {int(tasks):,} tasks", "journals", tasks, "least", bound,
            lambda of: of("postgres", "appendsPerSecond")))
    return found
