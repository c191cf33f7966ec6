"""All notifications of PostgreSQL are taken out on the way: streams are late, and nothing is lost."""

import asyncio

from client import Client, begin_all, judge, load
from figures import quantile
from wire import Wire

# How late a stream may be without hints. Seconds.
LATEST = 6.0


async def run(world):
    seconds, figures = world.length(120, 20), world.figures
    sessions = world.options.sessions or (60 if world.options.short else 200)
    database = await world.database()
    wires = [await Wire(database.port).start() for _ in range(3)]
    nodes = []
    for place, wire in enumerate(wires):
        nodes.append(await world.node(f"node{place + 1}", database.url(wire.port)).start())
    balancer = await world.balancer(nodes)
    clients = [Client(world.notes, balancer.port, index) for index in range(sessions)]
    await begin_all(clients)
    await load(clients, seconds / 2, rate=min(200, 2 * sessions), work=0)
    await asyncio.sleep(2)
    with_hints = list(world.notes.delays)
    figures.show("shown, with hints", f"p50 {quantile(with_hints, 0.5):.3f} s, p99 {quantile(with_hints, 0.99):.3f} s")
    for wire in wires:
        wire.drops = True
    world.notes.delays.clear()
    await load(clients, seconds, rate=min(200, 2 * sessions), work=0)
    await asyncio.sleep(LATEST + 1)
    late = list(world.notes.delays)
    # A state may be skipped, but the last one is shown.
    figures.none("streams without the last state", sum(client.shown_count != client.sum for client in clients))
    figures.show("notifications taken out", str(sum(wire.dropped for wire in wires)))
    figures.show("shown, without hints", f"p50 {quantile(late, 0.5):.3f} s, p99 {quantile(late, 0.99):.3f} s, "
                                         f"longest {max(late, default=0):.3f} s, of {len(late)}")
    if not sum(wire.dropped for wire in wires):
        figures.fault("no notification came at all: nothing was tried")
    if max(late, default=0) > LATEST:
        figures.fault(f"a stream was later than {LATEST} s")
    await judge(clients, world.notes)
    for client in clients:
        client.close()
    for wire in wires:
        wire.close()
