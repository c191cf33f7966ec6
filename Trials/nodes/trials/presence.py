"""Who looks at a shared store: people who come, go, lose their network and sign out, on nodes that are stopped and killed; then
a crowd that looks at one store."""

import asyncio
import random
import time

from client import Client
from crowd import Watcher
from figures import quantile
from link import Lost, Stream
from processes import TERMINATE, until

NAME = "checklist:here"
# What docs/stores.md promises: who closed a stream stays for so long, on a dead node longer; then a set may take a second.
GRACE, REPORT, INTERVAL = 10.0, 15.0, 1.0


class Looker(Client):
    """One session with a stream that comes back at once, and the sets that it showed."""

    def __init__(self, notes, port, index):
        super().__init__(notes, port, index, features=(NAME,))
        # Pairs of a time and a count.
        self.counts = []

    @property
    def count(self):
        return self.counts[-1][1]

    async def begin(self):
        await super().begin()
        # A client that only watches has no name to show.
        await self.send(NAME, {"type": "clear"})

    async def look(self):
        self.reader = asyncio.create_task(self._look())
        await until("a set", lambda: self.counts, 60)

    async def _look(self):
        while True:
            self.stream = Stream(self.port)
            try:
                async for event in self.stream.events(f"/events?feature={NAME}", self.token):
                    if event.name == "presence":
                        self.counts.append((event.time, event.data["count"]))
            except Lost:
                pass
            await asyncio.sleep(0.1 + self.random.random() / 5)

    async def away(self, seconds=None):
        """Closes the stream, for good or for so long."""
        self.reader.cancel()
        self.stream.close()
        if seconds is not None:
            await asyncio.sleep(seconds)
            self.reader = asyncio.create_task(self._look())


async def run(world):
    database = await world.database()
    nodes = await world.nodes(3, database.url())
    balancer = await world.balancer(nodes)
    await _comings(world, nodes, balancer)
    await _crowd(world, nodes)


async def _comings(world, nodes, balancer):
    figures, short, count = world.figures, world.options.short, world.options.sessions or 30
    lookers = [Looker(world.notes, balancer.port, index) for index in range(count)]
    await asyncio.gather(*(looker.begin() for looker in lookers))
    await asyncio.gather(*(looker.look() for looker in lookers))
    figures.none("streams that never showed all", await _late(lookers, count, 30))

    async def away(what, rounds, seconds):
        """A third of all is away for so long, again and again."""
        began = time.monotonic()
        for _ in range(rounds):
            gone = random.sample(lookers, count // 3)
            await asyncio.gather(*(looker.away(seconds) for looker in gone))
            await asyncio.sleep(1)
        # Whoever would go now went for a moment before.
        await asyncio.sleep(GRACE + REPORT / 2 if not short else 3)
        figures.none(f"sets without somebody, {what}", len(_flaps(lookers, began, count)), _flaps(lookers, began, count))
    await away(f"tunnels of 5 s, {count // 3} at a time", 3 if short else 10, 5)
    await away("reloads", 5 if short else 30, 0.3)
    await away("hidden tabs of 8 s", 1 if short else 5, 8)

    began = time.monotonic()
    for _ in range(1 if short else 3):
        for node in nodes:
            node.signal(TERMINATE)
            await node.ended()
            await node.start()
            await asyncio.sleep(1)
    await asyncio.sleep(GRACE + REPORT)
    figures.none("sets without somebody, deploys", len(_flaps(lookers, began, count)), _flaps(lookers, began, count))

    async def gone(what, leavers, seconds):
        """How long the others are shown those who went."""
        began, left = time.monotonic(), len(lookers)
        late = await _late(lookers, left, seconds)
        took = [next((at for at, shown in looker.counts if at > began and shown == left), began) - began for looker in lookers]
        figures.show(f"{what}, shown", f"{max(took):.1f} s later at the latest")
        figures.none(f"{what}, not shown", late)

    one = lookers.pop()
    await one.away()
    await gone("one closed its stream", 1, GRACE + 2)
    one = lookers.pop()
    await one.ask_until("DELETE", "/sessions/current", accept=(204,))
    await gone("one ended its session", 1, 2)
    # Those on one node, and none of them comes back.
    one.reader.cancel()
    node = nodes[0]
    leavers = [looker for looker in lookers if looker.stream.node.endswith(f":{node.port}")]
    lookers = [looker for looker in lookers if looker not in leavers]
    await node.kill()
    for looker in leavers:
        looker.reader.cancel()
    await gone(f"a node with {len(leavers)} was killed", len(leavers), 25)
    await node.start()
    for looker in lookers:
        looker.reader.cancel()
        looker.close()


async def _late(watchers, count, seconds):
    """How many do not show that count in time."""
    end = time.monotonic() + seconds
    while late := sum(watcher.count != count for watcher in watchers):
        if time.monotonic() > end:
            break
        await asyncio.sleep(0.05)
    return late


def _flaps(lookers, began, count):
    return [(looker.index, round(at - began, 1), shown) for looker in lookers
            for at, shown in looker.counts if at >= began and shown != count]


async def _crowd(world, nodes):
    """Thousands look, and some of them leave or come all the time."""
    figures, seconds = world.figures, 10 if world.options.short else 60
    size = world.options.sessions * 100 or (600 if world.options.short else 10_000)
    name = "checklist:crowd"

    async def come(index):
        watcher = Watcher(nodes[index % len(nodes)].port, name)
        await watcher.begin()
        return watcher
    watchers = []
    for start in range(0, size, 100):
        watchers += await asyncio.gather(*(come(index) for index in range(start, min(start + 100, size))))

    figures.none(f"of {size} who look, not shown all", await _late(watchers, size, 60))
    for watcher in watchers:
        watcher.times.clear()
    stayed, changes, began = set(watchers), 0, time.monotonic()
    received = sum(watcher.bytes for watcher in watchers)
    while time.monotonic() - began < seconds:
        for _ in range(5):
            watcher = watchers.pop(random.randrange(len(watchers)))
            stayed.discard(watcher)
            received -= watcher.bytes
            watcher.close()
        watchers += await asyncio.gather(*(come(index) for index in range(5)))
        changes += 10
        await asyncio.sleep(0.2)
    took = time.monotonic() - began
    received = sum(watcher.bytes for watcher in watchers) - received
    figures.show("who left and came meanwhile", f"{changes} in {took:.0f} s; {received / took / 1e6:.1f} MB/s to all")
    each = [len(watcher.times) / took for watcher in stayed]
    gaps = [later - earlier for watcher in stayed for earlier, later in zip(watcher.times, watcher.times[1:])]
    figures.show("sets each second", f"{sum(each) / len(each):.2f}, at most {max(each):.2f}; "
                 f"from one to the next p01 {quantile(gaps, 0.01):.2f} s, p50 {quantile(gaps, 0.5):.2f} s")
    # A set is told by each node as it learns of others: one of its own in a second.
    figures.none("streams with more than one set in a second", sum(rate > 1 + 1 / took for rate in each))
    figures.none("not shown all at the end", await _late(watchers, len(watchers), GRACE + REPORT + 5))
    for watcher in watchers:
        watcher.close()
