"""One node on PostgreSQL, whose answers come two milliseconds later, beside one on SQLite, in turn."""

import asyncio
import json

from figures import Failure, quantile
from processes import cpu_seconds
from wire import Wire

# Seconds by which the database's answers are delayed: about what a commit with a standby in another room takes.
DELAY = 0.002


async def run(world):
    seconds, figures = world.length(10, 3), world.figures
    rounds = 1 if world.options.short else 3
    database = await world.database()
    wire = await Wire(database.port).start()
    wire.delay = DELAY
    # Without --node-address: one node is compared with one server.
    nodes = {
        "SQLite": await world.node("sqlite", "sqlite", node_address=None).start(),
        "PostgreSQL": await world.node("postgres", database.url(wire.port), node_address=None).start(),
    }
    found = {name: [] for name in nodes}
    for place in range(rounds):
        for name, node in nodes.items():
            commits, before = await _commits(database), await database.processor_seconds()
            of_node = cpu_seconds(node.pid)
            report = world.path / f"{name}-{place}.json"
            process = await asyncio.create_subprocess_exec(
                f"{world.options.tools}/loadgen", "load", "--port", str(node.port), "--pid", str(node.pid), "--streams", "64",
                "--connections", "64", "--rate", "0", "--seconds", str(seconds), "--may-conflate", "--json", str(report),
                stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
            if await process.wait() != 0:
                raise Failure(f"the load on {name} ended with {process.returncode}")
            read = json.loads(report.read_text(encoding="utf-8"))
            # With those of its warm-up of a second.
            all_intents = read["intentsPerSecond"] * (seconds + 1)
            found[name].append({
                "rate": read["intentsPerSecond"], "p50": read["answerMs"]["p50"], "p99": read["answerMs"]["p99"],
                "cpu": (cpu_seconds(node.pid) - of_node) / all_intents * 1000,
                "database": (await database.processor_seconds() - before) / all_intents * 1000,
                "group": all_intents / max(1, await _commits(database) - commits),
            })
            figures.note(f"{name}: {found[name][-1]}")
    for name, runs in found.items():
        def middle(figure):
            return quantile([each[figure] for each in runs], 0.5)
        line = (f"{middle('rate'):.0f} intents/s, p50 {middle('p50'):.2f} ms, p99 {middle('p99'):.2f} ms, "
                f"{middle('cpu'):.3f} CPU s of the server a 1,000 intents")
        if name == "PostgreSQL":
            line += f", {middle('database'):.3f} of PostgreSQL, {middle('group'):.1f} intents a transaction"
        figures.show(name, line)
    rates = {name: quantile([each["rate"] for each in runs], 0.5) for name, runs in found.items()}
    figures.show("PostgreSQL beside SQLite", f"{rates['PostgreSQL'] / rates['SQLite']:.2f} times as many intents, medians of "
                                             f"{rounds}, 64 connections, answers of the database {DELAY * 1000:.0f} ms later")
    wire.close()


async def _commits(database):
    return int(await database.value("SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'"))
