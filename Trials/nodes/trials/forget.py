"""A person's data is deleted by a server that is killed meanwhile, again and again, while the person's devices write."""

import asyncio
import os
import random
import subprocess
import time
import urllib.parse

from figures import Failure, milliseconds
from link import Link, Lost
from processes import until

FEATURE = "/features/notes/intents"
DEVICES = 3
ADMIN = "a-token-of-the-trial"


class Device:
    """Signs in as a person and writes the person's mark into everything that a server keeps."""

    def __init__(self, nodes, name, mark):
        self.nodes, self.name, self.mark = nodes, name, mark
        self.token, self.written, self.refused = None, 0, 0
        self.may_sign_in = True

    async def ask(self, *arguments, **named):
        link = Link(random.choice(self.nodes).port)
        try:
            return await link.ask(*arguments, patience=10.0, **named)
        finally:
            link.close()

    async def sign_in(self):
        answer = await self.ask("POST", "/sessions", {"credential": "bearer", "identity": self.name})
        self.token = answer.json()["token"] if answer.status == 201 else None
        self.refused += answer.status == 503
        return self.token is not None

    async def write(self, times):
        """True if it was committed."""
        answer = await self.ask(
            "POST", FEATURE, {"type": "write", "text": self.mark, "times": times}, token=self.token,
            Idempotency_Key=f'"{self.mark}-{random.getrandbits(64):x}"', Prefer="return=minimal")
        if answer.status in (401, 404):
            self.token = None
        self.written += answer.status == 204
        return answer.status == 204

    async def use(self, stop):
        """Writes until it is stopped. Without an account it goes on with what it has."""
        while not stop.is_set():
            try:
                if self.token or (self.may_sign_in and await self.sign_in()):
                    await self.write(random.choice((1, 10, 300, 10_000)))
            except Lost:
                pass
            await asyncio.sleep(0.01)


class SQLiteStorage:
    """One server with its journal in a folder."""

    name = "SQLite"

    def __init__(self, world):
        self.world = world

    async def start(self):
        node = self.world.node("alone", "sqlite", self.world.options.node_server, arguments=("notes",), record_turns="3",
            admin_token=ADMIN)
        self.nodes = [await node.start()]
        self.folder = node.folder

    async def found(self, mark):
        def look():
            files = [path for path in self.folder.rglob("*") if path.is_file()]
            return [path.name for path in files if mark.encode() in path.read_bytes()]
        return await asyncio.to_thread(look)

    async def crashed(self, mark):
        """What is in the files after a kill."""
        await self.nodes[0].kill()
        found = await self.found(mark)
        await self.nodes[0].start()
        return found

    async def _tool(self, *arguments):
        process = await asyncio.create_subprocess_exec(
            self.world.options.server, *map(str, arguments), "--data", str(self.folder), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        said, _ = await process.communicate()
        if process.returncode:
            raise Failure(f"mvi-server {arguments[0]}: {said.decode()[-300:]}")

    async def back_up(self):
        backup = self.world.path / "backup.sqlite"
        backup.unlink(missing_ok=True)
        await self._tool("backup", backup)

    async def restore(self):
        await self.nodes[0].kill()
        for name in ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"):
            (self.folder / name).unlink(missing_ok=True)
        await self._tool("restore", self.world.path / "backup.sqlite")
        await self.nodes[0].start()


class PostgresStorage:
    """Three nodes on one database, each with a list of its own."""

    name = "PostgreSQL"

    def __init__(self, world):
        self.world = world

    async def start(self):
        self.database = await self.world.database()
        # All servers have one key of deleted people.
        key = os.urandom(32).hex()
        for place in range(3):
            (self.world.path / f"forgotten{place}.jsonl.key").write_text(key + "\n")
        self.nodes = [
            self.world.node(
                f"node{place}", self.database.url(), self.world.options.node_server, arguments=("notes",), record_turns="3",
                admin_token=ADMIN, forgotten_list=self.world.path / f"forgotten{place}.jsonl")
            for place in range(3)]
        for node in self.nodes:
            await node.start()

    async def found(self, mark):
        tables = await self.database.sql(
            "SELECT relname FROM pg_class WHERE relnamespace = 'mvi'::regnamespace AND relkind = 'r'")
        hexadecimal = mark.encode().hex()
        counts = await self.database.sql("\n".join(
            f"SELECT '{table}', count(*) FROM mvi.{table} AS t"
            f" WHERE t::text LIKE '%{mark}%' OR t::text LIKE '%{hexadecimal}%';" for table, in tables))
        return [table for table, count in counts if count != "0"]

    async def crashed(self, mark):
        await self.nodes[0].kill()
        await self.nodes[0].start()
        return await self.found(mark)

    async def back_up(self):
        await self.database.dump()

    async def restore(self):
        for node in self.nodes:
            await node.kill()
        await self.database.restore()
        for node in self.nodes:
            await node.start()


async def run(world):
    rounds = world.length(100, 4)
    for storage in (SQLiteStorage(world), PostgresStorage(world)):
        await storage.start()
        await _try(world, storage, rounds)
        for node in storage.nodes:
            await node.kill()


async def _try(world, storage, rounds):
    figures = world.figures
    neighbor = Device(storage.nodes, "bob", "the-text-of-bob")
    if not await neighbor.sign_in() or not await neighbor.write(1_000):
        raise Failure("the neighbor could not write")
    times, kills, interrupted, written, refused, restores = [], 0, 0, 0, 0, 0
    left, left_after_kill, left_after_restore = [], [], []
    for place in range(rounds):
        mark = f"mark-{os.urandom(8).hex()}"
        devices = [Device(storage.nodes, f"ann-{mark}", mark) for _ in range(DEVICES)]
        stop = asyncio.Event()
        using = [asyncio.create_task(device.use(stop)) for device in devices]
        await until("the devices write", lambda: all(device.written > 5 for device in devices))
        if not await storage.found(mark):
            figures.fault("the mark was not found before the deletion: the trial cannot tell")
        is_restored = place % (10 if rounds > 10 else 2) == 0
        if is_restored:
            await storage.back_up()
            tokens = [device.token for device in devices if device.token]
        # Killed at any time of a deletion, of which the first ones tell how long it takes.
        longest = max(times[-20:], default=0.4)
        for _ in range(2):
            killed = random.choice(storage.nodes)
            asking = asyncio.create_task(_forget(killed, devices[0].name))
            await asyncio.sleep(random.random() * longest * 1.2)
            await killed.kill()
            kills += 1
            interrupted += not await asking
            await killed.start()
        # The account is disabled: nobody signs in again, but the devices go on with what they have.
        for device in devices:
            device.may_sign_in = False
        first = began = time.monotonic()
        while not await _forget(random.choice(storage.nodes), devices[0].name):
            began = time.monotonic()
            if began > first + 60:
                raise Failure("the deletion did not succeed within a minute")
        times.append(time.monotonic() - began)
        left += await storage.found(mark)
        await asyncio.sleep(0.2)
        stop.set()
        await asyncio.gather(*using)
        if is_restored:
            # Kills the servers at once after the deletion.
            await storage.restore()
            restores += 1
            left_after_restore += await storage.found(mark)
            for devices[0].token in tokens:
                if await devices[0].write(1):
                    figures.fault("a device of a deleted person is let in after a restore")
        else:
            left_after_kill += await storage.crashed(mark)
        written += sum(device.written for device in devices)
        refused += sum(device.refused for device in devices)
        if (place + 1) % 10 == 0:
            figures.note(f"{storage.name}: {place + 1} rounds")
    if not await storage.found("the-text-of-bob"):
        figures.fault("the neighbor's text is gone")
    figures.show(f"{storage.name}, rounds", f"{rounds}, {kills} kills, of which {interrupted} in a deletion; {restores} restores")
    figures.show("the devices", f"{written} intents written, {refused} sign-ins refused meanwhile")
    figures.show("a whole deletion", milliseconds(times))
    figures.none("left while the server runs", len(left), left)
    figures.none("left after a kill", len(left_after_kill), left_after_kill)
    figures.none("left after a restore", len(left_after_restore), left_after_restore)


async def _forget(node, name):
    """True if the server says that all is deleted."""
    link = Link(node.admin)
    try:
        query = urllib.parse.urlencode({"issuer": "trial", "subject": name})
        answer = await link.ask("DELETE", f"/admin/subjects?{query}", token=ADMIN, patience=60.0)
        if answer.status not in (200, 503):
            raise Failure(f"a deletion was answered {answer.status}: {answer.body[:200]}")
        return answer.status == 200
    except Lost:
        return False
    finally:
        link.close()
