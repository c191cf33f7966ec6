"""Data folders that real servers of earlier schemas wrote, all of which there are: their sessions go on."""

import base64
import hashlib
import json
import os
import pathlib
import sqlite3
import time

from figures import Failure
from link import Link

HOLDS = "the sessions of the data folders of schemas 1 and 3 go on, with their states"
DUMPS = pathlib.Path(__file__).parents[3] / "Tests" / "JournalTests" / "SQLite"


async def run(world):
    dumps = sorted(DUMPS.glob("schema-*.sql"))
    if not dumps:
        raise Failure(f"no dump of a schema in {DUMPS}")
    for dump in dumps:
        schema = dump.stem
        node = world.node(schema, "sqlite")
        # The dump has hashes of tokens only, and times of long ago.
        tokens, states = restore(dump, node.folder / "journal.sqlite")
        await node.start()
        link = Link(node.port)
        for token, state in zip(tokens, states):
            for amount in (0, 1):
                answer = await link.ask(
                    "POST", "/features/counter/intents", {"type": "add", "amount": amount}, token, prefer="return=representation")
                found = answer.json().get("count") if answer.status == 200 else f"{answer.status} {answer.problem()}"
                if found != state + amount:
                    world.figures.fault(f"{schema}: a counter of {state} and {amount} gave {found}")
        link.close()
        world.figures.show(schema, f"{len(tokens)} sessions go on")
        node.signal(15)
        if await node.ended(60) != 0:
            raise Failure(f"{schema}: the server did not end with 0: {node.said()}")


def restore(dump, path):
    """Writes the journal of a dump, with tokens that are known, as used just now. Returns these and the counters' states."""
    database = sqlite3.connect(path)
    database.executescript(dump.read_text(encoding="utf-8"))
    # The number of a store begins with that of its session.
    counters = database.execute(
        "SELECT key, state FROM sessions JOIN stores ON stores.id >> 16 = key WHERE feature = 'counter'").fetchall()
    tokens = []
    for session, _ in counters:
        token = base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=")
        database.execute(
            "UPDATE sessions SET token = ?, last_seen = ? WHERE key = ?",
            (hashlib.sha256(token).digest(), time.time_ns(), session))
        tokens.append(token.decode())
    database.commit()
    database.close()
    if not tokens:
        raise Failure(f"{dump.name} has no session with a counter")
    return tokens, [json.loads(state)["count"] for _, state in counters]
