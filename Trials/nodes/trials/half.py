"""A connection to the database dies silently in the middle of a transaction that holds rows, again and again under load."""

import asyncio
import time

from client import Client, begin_all, judge
from cutter import Cutter
from figures import milliseconds
from link import Link, Stream

MARK = b".heads AS h SET number"
# How long a row may be locked, and how long an intent to a session whose row is not may take. Seconds.
LONGEST_LOCK, LONGEST_WAIT = 30.0, 8.0


class Turns:
    """A connection to each node, asked in turn."""

    def __init__(self, nodes):
        self.links, self.count = [Link(node.port) for node in nodes], 0

    async def ask(self, *arguments, **named):
        self.count += 1
        return await self.links[self.count % len(self.links)].ask(*arguments, **named)

    def close(self):
        for link in self.links:
            link.close()


class Waiter(Client):
    """Asks all nodes, and knows when each of its intents was sent and answered."""

    def __init__(self, notes, nodes, index):
        super().__init__(notes, nodes[0].port, index)
        self.link, self.spans = Turns(nodes), []
        self.make_stream = lambda _, host: Stream(self.random.choice(nodes).port, host)

    async def send(self, *arguments, **named):
        began = time.monotonic()
        version = await super().send(*arguments, **named)
        self.spans.append((began, time.monotonic()))
        return version


async def run(world):
    rounds, figures = world.length(20, 3), world.figures
    sessions = world.options.sessions or (60 if world.options.short else 200)
    database = await world.database()
    cutters = [await Cutter(database.port).start() for _ in range(2)]
    nodes = [
        await world.node(f"node{place + 1}", database.url(port=cutter.port)).start() for place, cutter in enumerate(cutters)]
    clients = [Waiter(world.notes, nodes, index) for index in range(sessions)]
    await begin_all(clients)
    stop = asyncio.Event()

    async def count(client):
        while not stop.is_set():
            await client.add(client.random.choice((1, 4, 10, 10)))
            if client.random.random() < 0.1:
                await client.read()
            await asyncio.sleep(sessions / 200 * (0.5 + client.random.random()))
    counting = [asyncio.create_task(count(client)) for client in clients]
    cuts, locked = [], []
    for place in range(rounds):
        await asyncio.sleep(2)
        cut = await cutters[place % 2].cut(MARK)
        cuts.append(cut)
        before = world.notes.acknowledged
        while await _is_held(database, cut) and time.monotonic() - cut.time < 2 * LONGEST_LOCK:
            await asyncio.sleep(0.2)
        locked.append(time.monotonic() - cut.time)
        figures.note(f"round {place + 1}, {nodes[place % 2].name}: rows of {len(cut.keys)} sessions locked for "
                     f"{locked[-1]:.1f} s, {world.notes.acknowledged - before} intents acknowledged meanwhile")
    await asyncio.sleep(2)
    stop.set()
    for result in await asyncio.gather(*counting, return_exceptions=True):
        if isinstance(result, BaseException):
            world.notes.say(f"a client: {type(result).__name__}: {result}")
    rows = await database.sql("SELECT convert_from(id, 'UTF8'), key FROM mvi.sessions")
    keys = {id_: int(key) for id_, key in rows}
    held, others = [], []
    for client in clients:
        mine = [cut.time for cut in cuts if keys.get(client.session) in cut.keys]
        for began, ended in client.spans:
            if any(began <= moment + LONGEST_LOCK and ended >= moment for moment in mine):
                held.append(ended - began)
            elif any(began <= cut.time + lock and ended >= cut.time for cut, lock in zip(cuts, locked)):
                others.append(ended - began)
    figures.show("cuts", f"{rounds}, {sessions} sessions, of which a cut held {max(len(cut.keys) for cut in cuts)} at most")
    figures.show("rows locked", milliseconds(locked))
    figures.show("intents of these sessions", milliseconds(held))
    figures.show("intents of others meanwhile", milliseconds(others))
    figures.none(f"locks for more than {LONGEST_LOCK:.0f} s", sum(each > LONGEST_LOCK for each in locked))
    figures.none(f"intents of others over {LONGEST_WAIT:.0f} s", sum(each > LONGEST_WAIT for each in others))
    await judge(clients, world.notes)
    for each in (*clients, *cutters):
        each.close()


async def _is_held(database, cut):
    """Whether the transaction is still open that was cut off."""
    return await database.value(
        f"SELECT count(*) FROM pg_stat_activity WHERE client_port = {cut.port} AND xact_start IS NOT NULL") != "0"
