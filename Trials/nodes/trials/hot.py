"""Two nodes and one session to which 64 connections send as soon as they are answered."""

import asyncio
import json

from client import Client
from figures import Failure


async def run(world):
    seconds, figures = world.length(30, 8), world.figures
    database = await world.database(more="track_io_timing = off\nshared_preload_libraries = 'pg_stat_statements'\n")
    await database.sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    nodes = await world.nodes(2, database.url())
    rates = {}
    for name, ports in (("one node", [nodes[0].port]), ("two nodes", [node.port for node in nodes])):
        client = Client(world.notes, nodes[0].port, 0)
        await client.begin()
        await client.add(1)
        await database.sql("SELECT pg_stat_statements_reset()")
        began = await _commits(database)
        process = await asyncio.create_subprocess_exec(
            f"{world.options.tools}/hot", client.token, "64", str(seconds), *map(str, ports), stdout=asyncio.subprocess.PIPE)
        out, _ = await process.communicate()
        if process.returncode != 0:
            raise Failure(f"hot ended with {process.returncode}")
        found = json.loads(out)
        commits = await _commits(database) - began
        tried = await database.sql(
            "SELECT coalesce(sum(calls), 0), coalesce(sum(rows), 0) FROM pg_stat_statements WHERE query ILIKE '%heads%' "
            "AND query ILIKE '%update%' AND query ILIKE '%nonce%'")
        answer, _ = await client.ask_until("GET", "/features/counter/state", accept=(200,))
        count = answer.json()["count"]
        rates[name] = found["accepted"] / seconds
        figures.show(f"{name}", f"{rates[name]:.0f} intents/s, p50 {found['p50'] * 1000:.1f} ms, "
                                f"p99 {found['p99'] * 1000:.1f} ms, longest {found['longest']:.2f} s")
        figures.show("", f"answers {found['statuses']}, {found['lost']} without; {commits} transactions of the database, "
                         f"{found['accepted'] / max(1, commits):.1f} intents a transaction; "
                         f"{int(tried[0][0]) / max(1, int(tried[0][1])):.2f} attempts a commit of a head")
        # An answer that was lost may have been committed.
        if not found["accepted"] + 1 <= count <= found["accepted"] + 1 + found["unknown"]:
            figures.fault(f"{name}: {found['accepted']} intents were acknowledged, {found['unknown']} are unknown, "
                          f"and the count is {count}")
        if found["p99"] > 2:
            figures.fault(f"{name}: p99 is {found['p99']:.1f} s")
        client.close()
    figures.show("two nodes beside one", f"{rates['two nodes'] / max(1, rates['one node']):.2f} times as many intents")


async def _commits(database):
    return int(await database.value("SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'"))
