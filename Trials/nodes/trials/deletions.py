"""A deletion, and a restore of a backup that is older than many deletions, in a journal with many people."""

import hashlib
import hmac
import os
import sqlite3
import subprocess
import time
import urllib.parse

from figures import Failure
from link import Link
from processes import until

ADMIN = "a-token-of-the-trial"
MOST_SECONDS = 30.0
ISSUER = "proxy"
SETTINGS = {"admin_token": ADMIN, "identity_header": "X-User", "node_address": None}


def listed(path, people):
    """Writes a list of deleted people with its key, as servers do. See ForgottenKey."""
    secret = os.urandom(32)
    path.with_name(f"{path.name}.key").write_text(secret.hex() + "\n")

    def code(purpose, text):
        return hmac.new(secret, bytes([purpose]) + text, hashlib.sha256).digest()
    now = time.time_ns()
    with open(path, "w", encoding="ascii") as lines:
        for name in people:
            of = code(1, f"{ISSUER}\0{name}".encode())
            key = code(0, b"")[:8] + code(2, f"{now} ".encode() + of)[:16]
            lines.write(f'{{"time":{now},"key":"{key.hex()}","code":"{of.hex()}"}}\n')
    for each in (path, path.with_name(f"{path.name}.key")):
        each.chmod(0o600)


async def ask(port, *arguments, **named):
    link = Link(port)
    try:
        return await link.ask(*arguments, patience=120.0, **named)
    finally:
        link.close()


async def first_person(node):
    """One signed-in session with a store, of which the others are copies."""
    made = await ask(node.port, "POST", "/sessions", {"credential": "bearer"}, X_User="user-0")
    sent = await ask(
        node.port, "POST", "/features/counter/intents", {"type": "increment"}, token=made.json()["token"],
        X_User="user-0")
    if sent.status != 202:
        raise Failure(f"an intent was answered {sent.status}: {sent.body[:200]}")


async def delete(node, name):
    began = time.monotonic()
    query = urllib.parse.urlencode({"issuer": ISSUER, "subject": name})
    answer = await ask(node.admin, "DELETE", f"/admin/subjects?{query}", token=ADMIN)
    if answer.status != 200 or answer.json()["sessions"] != 1:
        raise Failure(f"a deletion was answered {answer.status}: {answer.body[:200]}")
    return time.monotonic() - began


def copy_in_sqlite(path, count):
    with sqlite3.connect(path) as base:
        for table in ("sessions", "credentials", "stores"):
            columns = [row[1] for row in base.execute(f"PRAGMA table_info({table})")]
            new = {"sessions": {"key": "key + n", "token": "randomblob(32)", "id": "'s' || n", "subject": "'user-' || n"},
                   "credentials": {"session": "session + n", "token": "randomblob(32)"},
                   "stores": {"id": "((id >> 16) + n << 16) + (id & 65535)"}}[table]
            base.execute(
                "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ?) "
                f"INSERT INTO {table} SELECT {', '.join(new.get(name, name) for name in columns)} FROM {table}, s",
                (count - 1,))
        return base.execute("SELECT count(*) FROM sessions").fetchone()[0]


async def in_sqlite(world, people, deleted):
    node = await world.node("alone", "sqlite", **SETTINGS).start()
    await first_person(node)
    await node.kill()
    copies = copy_in_sqlite(node.folder / "journal.sqlite", people)
    backup = world.path / "backup.sqlite"

    def tool(*arguments):
        began = time.monotonic()
        said = subprocess.run(
            [world.options.server, *map(str, arguments), "--data", str(node.folder)], capture_output=True, text=True, check=False)
        if said.returncode:
            raise Failure(f"mvi-server {arguments[0]}: {said.stderr[-300:]}")
        return time.monotonic() - began
    tool("backup", backup)
    for name in ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"):
        (node.folder / name).unlink(missing_ok=True)
    listed(node.folder / "forgotten.jsonl", [f"user-{number}" for number in range(1, deleted + 1)])
    restored = tool("restore", backup)
    with sqlite3.connect(f"file:{node.folder}/journal.sqlite?mode=ro", uri=True) as base:
        left = base.execute("SELECT count(*) FROM sessions").fetchone()[0]
    await node.start()
    return restored, await delete(node, "user-0"), copies - left


async def copy_in_postgres(database, count):
    token = "sha256(token || n::text::bytea)"
    for table, new in {
        "sessions": {"key": "key + n", "token": token, "id": "('s' || n)::bytea", "subject": "('user-' || n)::bytea"},
        "heads": {"key": "key + n"}, "tokens": {"token": token, "session": "session + n"},
        "credentials": {"session": "session + n", "token": token}, "stores": {"session": "session + n"},
    }.items():
        names = [row[0] for row in await database.sql(
            f"SELECT attname FROM pg_attribute WHERE attrelid = 'mvi.{table}'::regclass AND attnum > 0 AND NOT attisdropped")]
        await database.sql(
            f"INSERT INTO mvi.{table} ({', '.join(names)}) OVERRIDING SYSTEM VALUE "
            f"SELECT {', '.join(new.get(name, name) for name in names)} FROM mvi.{table}, generate_series(1, {count - 1}) AS n")
    await database.sql("ANALYZE")
    return int(await database.value("SELECT count(*) FROM mvi.sessions"))


async def in_postgres(world, people, deleted):
    database = await world.database()
    forgotten = world.path / "deleted.jsonl"
    node = await world.node("node", database.url(), forgotten_list=forgotten, **SETTINGS).start()
    await first_person(node)
    await node.kill()
    copies = await copy_in_postgres(database, people)
    # As after a restore: the database knows none of them, and another key's mark would be noticed.
    await database.sql("DELETE FROM mvi.forgotten")
    listed(forgotten, [f"user-{number}" for number in range(1, deleted + 1)])
    began = time.monotonic()
    await node.start(wait=False)
    await until("the server is ready", node.is_ready, 300)
    restored = time.monotonic() - began
    left = int(await database.value("SELECT count(*) FROM mvi.sessions"))
    return restored, await delete(node, "user-0"), copies - left


async def run(world):
    people = world.length(100_000, 2_000)
    deleted = people // 10
    for name, trial in (("SQLite", in_sqlite), ("PostgreSQL", in_postgres)):
        restored, deletion, gone = await trial(world, people, deleted)
        world.figures.show(f"{name}, restore", f"{restored:.1f} s: {deleted} deleted people, {people} in the backup")
        world.figures.show(f"{name}, a deletion", f"{deletion:.2f} s")
        if gone != deleted:
            world.figures.fault(f"{name}: {gone} people were deleted again, not {deleted}")
        for what, seconds in (("a restore", restored), ("a deletion", deletion)):
            if seconds > MOST_SECONDS:
                world.figures.fault(f"{name}: {what} took {seconds:.1f} s")
