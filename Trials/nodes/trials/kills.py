"""A node is killed every ten seconds, and starts again, while clients count through a proxy that keeps none at a node."""

import asyncio
import time

from client import Client, begin_all, judge, load

FEATURES = ("counter", "video-list", "user-info")


async def run(world):
    seconds, figures = world.length(1800, 30), world.figures
    sessions = world.options.sessions or (100 if world.options.short else 1000)
    database = await world.database()
    nodes = await world.nodes(3, database.url())
    balancer = await world.balancer(nodes)
    clients = [
        Client(world.notes, balancer.port, index, features=(*FEATURES, f"order-detail:{42 + index % 2}"))
        for index in range(sessions)]
    await begin_all(clients)
    figures.note(f"{sessions} streams are live")
    kills, starts = 0, []

    async def kill():
        nonlocal kills
        await asyncio.sleep(3)
        while True:
            node = nodes[kills % len(nodes)]
            kills += 1
            figures.note(f"{node.name} is killed; {world.notes.acknowledged} intents acknowledged so far")
            await node.kill()
            began = time.monotonic()
            await asyncio.sleep(1)
            await node.start()
            starts.append(time.monotonic() - began)
            await asyncio.sleep(max(0, 10 - (time.monotonic() - began)))
    killing = asyncio.create_task(kill())
    try:
        await load(clients, seconds, rate=min(300, sessions))
    finally:
        killing.cancel()
    if killing.done() and not killing.cancelled() and killing.exception():
        raise killing.exception()
    await asyncio.sleep(2)
    for node in nodes:
        if not node.lives():
            await node.start()
    figures.show("nodes", f"{kills} times one of three was killed, ready again after {max(starts, default=0):.1f} s at most")
    figures.show("sessions", f"{sessions} with a stream each, for {seconds} s")
    await judge(clients, world.notes)
    idle = await asyncio.gather(*(client.idle() for client in clients))
    figures.none("sessions whose work never ends", sum(not each for each in idle))
    for client in clients:
        client.close()
