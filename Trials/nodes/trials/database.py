"""The database in every kind of trouble: intents are refused, states can be read, streams stay, and it heals by itself."""

import asyncio
import time

from client import Client, begin_all, judge
from link import Link, Lost
from processes import until
from wire import Wire

# How long after the trouble the first intent may be acknowledged: the longest pause between two tries, and a little.
HEALED = 10.0


async def run(world):
    length, figures = world.length(20, 6), world.figures
    database = await world.database()
    # Not the owner of the server, so that a limit of connections holds for it.
    await database.sql("CREATE ROLE node LOGIN; GRANT CREATE ON DATABASE postgres TO node")
    wire = await Wire(database.port).start()
    url = database.url(wire.port).replace("mvi@", "node@")
    node = await world.node("node1", url).start()
    clients = [Client(world.notes, node.port, index) for index in range(30)]
    await begin_all(clients)
    stop = asyncio.Event()

    async def count(client):
        while not stop.is_set():
            await client.add(client.random.choice((1, 4, 10)))
            await asyncio.sleep(0.3 + client.random.random() * 0.4)
    counting = [asyncio.create_task(count(client)) for client in clients]
    scene = Scene(world, node, clients)
    ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'node'"

    await scene.play("gone", length, lambda: database.stop("immediate"), database.start)
    await scene.play("restarted", 3, lambda: database.restart("fast"), None, must_be_off=False)
    await scene.play(
        "read-only", length, lambda: database.reload("default_transaction_read_only = on"), lambda: database.reload(""),
        keeps_readable=False)

    async def kill_connections():
        for _ in range(8):
            await database.sql(ends)
            await asyncio.sleep(0.4)
    await scene.play("connections killed", 1, kill_connections, None, must_be_off=False)

    async def no_connections():
        await database.sql("ALTER ROLE node CONNECTION LIMIT 0; " + ends)
    await scene.play(
        "too many connections", length, no_connections, lambda: database.sql("ALTER ROLE node CONNECTION LIMIT -1"))

    async def slow():
        wire.delay = 0.8

    async def quick():
        wire.delay = 0
    await scene.play("slow, 0.8 s an answer", length, slow, quick, must_be_off=False)

    async def cut():
        wire.is_cut = True

    async def mended():
        wire.is_cut = False
    # It shows when the client's patience with an answer is over.
    await scene.play("silent network", max(length, 20), cut, mended)

    async def lock():
        await database.sql("ALTER ROLE node NOLOGIN; " + ends)
    await scene.play("no right to connect", length, lock, lambda: database.sql("ALTER ROLE node LOGIN"))
    stop.set()
    for result in await asyncio.gather(*counting, return_exceptions=True):
        if isinstance(result, BaseException):
            world.notes.say(f"a client: {type(result).__name__}: {result}")
    await asyncio.sleep(1)
    await judge(clients, world.notes, old_reads_allowed=True)
    for client in clients:
        client.close()
    wire.close()


class Scene:
    """One trouble after the other, with a look at the node meanwhile."""

    def __init__(self, world, node, clients):
        self.world, self.node, self.clients = world, node, clients

    async def play(self, name, seconds, begin, end, must_be_off=True, keeps_readable=True):
        """A database that answers and commits nothing may be one that was replaced: its states are read until the lease ends.
        So it is with one that is back, until it has committed something for this node."""
        figures, notes = self.world.figures, self.world.notes
        await asyncio.sleep(1.5)
        reader, link = self.clients[0], Link(self.node.port)
        streams, began = notes.streams, time.monotonic()
        refused = notes.statuses.get(503, 0) + notes.statuses.get(507, 0)
        waits_before = len(notes.waits)
        statuses, reads, off = {}, [], None
        looking, is_back = True, False

        async def look():
            nonlocal off
            while looking:
                asked = time.monotonic()
                try:
                    answer = await link.ask("GET", "/features/counter/state", token=reader.token, patience=10)
                    if answer.status == 200 or not is_back:
                        statuses[answer.status] = statuses.get(answer.status, 0) + 1
                except Lost:
                    statuses["lost"] = statuses.get("lost", 0) + 1
                reads.append(time.monotonic() - asked)
                if off is None and await self.node.readiness() == 503:
                    off = time.monotonic() - began
                await asyncio.sleep(0.2)
        task = asyncio.create_task(look())
        await begin()
        await asyncio.sleep(seconds)
        is_back = True
        if end:
            await end()
        healed_from, before = time.monotonic(), notes.acknowledged
        await until(f"intents after '{name}'", lambda: notes.acknowledged > before, 60, 0.02)
        healed = time.monotonic() - healed_from
        await until(f"readiness after '{name}'", self.node.is_ready, 60, 0.1)
        ready = time.monotonic() - healed_from
        looking = False
        await task
        link.close()
        now_refused = notes.statuses.get(503, 0) + notes.statuses.get(507, 0)
        longest = max(notes.waits[waits_before:], default=0)
        figures.show(name, f"not ready after {'-' if off is None else f'{off:.1f} s'}; {now_refused - refused} refusals; "
                           f"reads {statuses}, longest {max(reads):.2f} s; {notes.streams - streams} streams cut; "
                           f"heals {healed:.1f} s after, ready {ready:.1f} s after; an intent waited {longest:.1f} s at most")
        if must_be_off and off is None:
            figures.fault(f"{name}: it stayed ready")
        if 200 not in statuses or not set(statuses) <= ({200} if keeps_readable else {200, 503}):
            figures.fault(f"{name}: a state in memory could not be read: {statuses}")
        if notes.streams != streams:
            figures.fault(f"{name}: {notes.streams - streams} streams were cut")
        if max(healed, ready) > HEALED:
            figures.fault(f"{name}: it took {max(healed, ready):.1f} s to heal")
