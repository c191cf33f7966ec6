"""Journals that real servers of earlier schemas wrote, SQLite files and PostgreSQL databases: their sessions go on."""

import base64
import hashlib
import json
import os
import pathlib
import sqlite3
import time

from figures import Failure
from link import Link

HOLDS = "the sessions of journals of earlier schemas, SQLite and PostgreSQL, go on with their states"
DUMPS = pathlib.Path(__file__).parents[3] / "Tests" / "OlderJournals"


async def run(world):
    files, dumps = dumps_of("sqlite"), dumps_of("postgres")
    for dump in files:
        node = world.node(dump.stem, "sqlite")
        await go_on(world, node, restore_file(dump, node.folder / "journal.sqlite"))
    database = await world.database()
    for dump in dumps:
        node = world.node(dump.stem, database.url())
        await go_on(world, node, await restore_database(dump, database))


def dumps_of(journal):
    found = sorted(DUMPS.glob(f"{journal}-*.sql"), key=lambda path: int(path.stem.rpartition("-")[2]))
    if not found:
        raise Failure(f"no dump of {journal} in {DUMPS}")
    return found


async def go_on(world, node, states):
    """Starts the server, and counts on in the sessions of these tokens."""
    if not states:
        raise Failure(f"{node.name} has no session with a counter")
    await node.start()
    link = Link(node.port)
    for token, state in states.items():
        for amount in (0, 1):
            answer = await link.ask(
                "POST", "/features/counter/intents", {"type": "add", "amount": amount}, token, prefer="return=representation")
            found = answer.json().get("count") if answer.status == 200 else f"{answer.status} {answer.problem()}"
            if found != state + amount:
                world.figures.fault(f"{node.name}: a counter of {state} and {amount} gave {found}")
    link.close()
    world.figures.show(node.name, f"{len(states)} sessions go on")
    node.signal(15)
    if await node.ended(60) != 0:
        raise Failure(f"{node.name}: the server did not end with 0: {node.said()}")


def new_token():
    """A token and its hash. Dumps have hashes only."""
    token = base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=")
    return token.decode(), hashlib.sha256(token).digest()


def restore_file(dump, path):
    """Writes a dump's journal, used just now. Returns the counters' states by the new tokens of their sessions."""
    database = sqlite3.connect(path)
    database.executescript(dump.read_text(encoding="utf-8"))
    states = {}
    # The number of a store begins with that of its session.
    for session, state in database.execute(
            "SELECT key, state FROM sessions JOIN stores ON stores.id >> 16 = key WHERE feature = 'counter'").fetchall():
        token, digest = new_token()
        database.execute("UPDATE sessions SET token = ?, last_seen = ? WHERE key = ?", (digest, time.time_ns(), session))
        states[token] = json.loads(state)["count"]
    database.commit()
    database.close()
    return states


async def restore_database(dump, database):
    """Likewise, in the place of the schema that is there."""
    await database.sql("DROP SCHEMA IF EXISTS mvi CASCADE")
    await database.sql(dump.read_text(encoding="utf-8"))
    states = {}
    for session, state in await database.sql(
            "SELECT session, convert_from(state, 'UTF8') FROM mvi.stores WHERE feature = 'counter'"):
        token, digest = new_token()
        await database.sql(
            f"UPDATE mvi.tokens SET token = '\\x{digest.hex()}' WHERE token = (SELECT token FROM mvi.sessions WHERE key = {session});"
            f"UPDATE mvi.sessions SET token = '\\x{digest.hex()}', noted = {time.time_ns()} WHERE key = {session};"
            f"UPDATE mvi.heads SET seen = {time.time_ns()} WHERE key = {session}")
        states[token] = json.loads(state)["count"]
    return states
