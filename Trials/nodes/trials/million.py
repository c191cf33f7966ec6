"""A node on a million stored sessions, in PostgreSQL and in SQLite: its start and memory. Then, in PostgreSQL, what deletions,
sweeps and new clients cost others."""

import asyncio
import json
import sqlite3
import time

import burden
from figures import Failure
from processes import TERMINATE, rss_mib

LIVE = 200
# Whatever columns there are, they are copied: only keys, tokens and names are made anew.
_MADE = {
    "postgres": {"key": "{last} + i", "session": "{last} + i", "token": "sha256(convert_to('{table}' || i, 'UTF8'))",
                 "id": "convert_to('copy' || i, 'UTF8')"},
    "sqlite": {"key": "{last} + i", "session": "{last} + i", "token": "randomblob(32)", "id": "'copy' || i"},
}


async def run(world):
    stored, figures = world.length(1_000_000, 20_000), world.figures
    database = await world.database(more="fsync = off\nmaintenance_work_mem = 256MB\nmax_wal_size = 4GB\n")
    taken = {}
    for name, journal, copy in (
            ("PostgreSQL", database.url(), lambda node: _copy_in_postgres(database, stored - LIVE)),
            ("SQLite", "sqlite", lambda node: _copy_in_sqlite(node.folder / "journal.sqlite", stored - LIVE))):
        tokens = world.path / f"{name}.tokens"
        node = await world.node(name.lower(), journal, max_kept_sessions=2_000_000, session_ttl="1000h").start()
        await _load(world, node, "--keep", str(tokens))
        for count in (LIVE, stored):
            node.signal(TERMINATE)
            await node.ended()
            if count == stored:
                began = time.monotonic()
                found = await copy(node)
                figures.show(f"{name}, stored", f"{found}, made by SQL in {time.monotonic() - began:.1f} s")
            began = time.monotonic()
            await node.start()
            ready = time.monotonic() - began
            idle = rss_mib(node.pid)
            await _load(world, node, "--tokens", str(tokens))
            taken[name, count] = (ready, idle, rss_mib(node.pid))
            ready, idle, live = taken[name, count]
            figures.show(f"{name}, {count} stored", f"ready after {ready:.2f} s with {idle:.1f} MiB; {LIVE} of them live: "
                                                    f"{live:.1f} MiB")
        node.signal(TERMINATE)
        await node.ended()
    for name in ("PostgreSQL", "SQLite"):
        few, many = taken[name, LIVE], taken[name, stored]
        figures.show(f"{name}, with all stored", f"start {many[0] - few[0]:+.2f} s, memory {many[2] - few[2]:+.1f} MiB")
    few, many = taken["PostgreSQL", LIVE], taken["PostgreSQL", stored]
    if many[2] - few[2] > 40:
        figures.fault("memory grows with what is stored")
    if many[0] - few[0] > 2:
        figures.fault("the start takes longer with what is stored")
    await burden.run(world, stored)


async def _load(world, node, *arguments):
    report = world.path / "report.json"
    process = await asyncio.create_subprocess_exec(
        f"{world.options.tools}/loadgen", "load", "--port", str(node.port), "--pid", str(node.pid), "--streams", str(LIVE),
        "--rate", "200", "--seconds", "3", "--may-conflate", "--json", str(report), *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL)
    out, _ = await process.communicate()
    if process.returncode != 0:
        raise Failure(f"the load ended with {process.returncode}: {out.decode()[-800:]}")
    return json.loads(report.read_text(encoding="utf-8"))


async def _copy_in_postgres(database, copies):
    await database.sql("SET synchronous_commit = off")
    tables = await database.sql(
        "SELECT c.table_name, string_agg(c.column_name, ',' ORDER BY c.ordinal_position) FROM information_schema.columns c "
        "JOIN pg_class p ON p.relname = c.table_name AND p.relnamespace = 'mvi'::regnamespace AND NOT p.relispartition "
        "WHERE c.table_schema = 'mvi' AND c.table_name NOT IN ('meta', 'nodes') AND p.relkind IN ('r', 'p') GROUP BY 1")
    # One that has a store and nothing that runs.
    pattern = int(await database.value("SELECT min(session) FROM mvi.stores"))
    last = int(await database.value("SELECT max(key) FROM mvi.sessions"))
    statements = ["BEGIN"]
    for table, columns in tables:
        names = columns.split(",")
        owner = "key" if table in ("sessions", "heads") else "session"
        # An identity column of a table of another kind makes its own numbers.
        names = [name for name in names if not (name == "id" and table == "set_aside")]
        if owner not in names:
            continue
        made = {name: text.format(last=last, table=table) for name, text in _MADE["postgres"].items()}
        if table == "tokens":
            made["token"] = made["token"].replace("'tokens'", "'sessions'")
        values = ", ".join(made.get(name, f"source.{name}") for name in names)
        statements.append(
            f"INSERT INTO mvi.{table} ({', '.join(names)}) OVERRIDING SYSTEM VALUE SELECT {values} "
            f"FROM mvi.{table} source, generate_series(1, {copies}) i WHERE source.{owner} = {pattern}")
    statements += [
        f"SELECT setval(pg_get_serial_sequence('mvi.sessions', 'key'), {last + copies})", "COMMIT", "ANALYZE", "CHECKPOINT"]
    await database.sql(";\n".join(statements))
    size = await database.value("SELECT pg_size_pretty(sum(pg_total_relation_size(oid))) FROM pg_class "
                                "WHERE relnamespace = 'mvi'::regnamespace AND relkind = 'r'")
    return f"{await database.value('SELECT count(*) FROM mvi.sessions')} sessions, {size}"


async def _copy_in_sqlite(path, copies):
    def copy():
        link = sqlite3.connect(path, isolation_level=None)
        for statement in ("PRAGMA synchronous = OFF", "PRAGMA cache_size = -400000", "BEGIN"):
            link.execute(statement)
        tables = [row[0] for row in link.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        pattern, last = link.execute("SELECT min(key), max(key) FROM sessions").fetchone()
        for table in ["sessions", *(each for each in tables if each != "sessions")]:
            names = [row[1] for row in link.execute(f"PRAGMA table_info({table})")]
            owner = "key" if table == "sessions" else "session"
            if owner not in names or table == "garbage":
                continue
            made = {name: text.format(last=last) for name, text in _MADE["sqlite"].items()}
            values = ", ".join(made.get(name, f"source.{name}") for name in names)
            link.execute(
                f"INSERT INTO {table} ({', '.join(names)}) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                f"WHERE i < {copies}) SELECT {values} FROM n, {table} source WHERE source.{owner} = {pattern}")
        link.execute("COMMIT")
        link.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        count = link.execute("SELECT count(*) FROM sessions").fetchone()[0]
        link.close()
        return f"{count} sessions, {path.stat().st_size >> 20} MB"
    return await asyncio.to_thread(copy)
