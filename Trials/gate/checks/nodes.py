"""Two released nodes on one PostgreSQL database, with nginx in front that keeps no client at a node."""

import asyncio
import re
import time
import urllib.request

from callers import Caller, Lists, judge_lists
from client import Client, begin_all, judge, load
from link import Link, Lost, Stream
from processes import TERMINATE, until

HOLDS = ("nodes forward to the owner of work and of shared lists; a kill and a drain lose nothing and double nothing; "
         "who looks at a list is told on both nodes")
LIST = "checklist:here"
FEATURES = ("counter", "video-list", "user-info", "order-detail:42", "order-detail:43")


async def run(world):
    database = await world.database()
    nodes = await world.nodes(2, database.url(), demo_latency="5s")
    balancer = await world.balancer(nodes)
    others = Lookers(world, nodes, balancer)
    await asyncio.gather(forwarding(world, nodes, balancer), others.come())
    await others.go()
    await crowd(world, nodes, balancer)


async def forwarding(world, nodes, balancer):
    """Work runs on one node, and intents go to the other."""
    figures = world.figures
    client = Client(world.notes, balancer.port, 0)
    await client.begin()
    links = [Link(node.port) for node in nodes]

    async def send(place, kind):
        answer = await links[place].ask("POST", "/features/counter/intents", {"type": kind}, client.token)
        if answer.status != 202:
            figures.fault(f"{kind} at {nodes[place].name} got {answer.status} {answer.problem()}")

    streams = [asyncio.create_task(shown(node.port, client.token, 6)) for node in nodes]
    # On a machine that is slower than the work, the next round finds it running.
    for round_ in range(10):
        await send(0, "load")
        for _ in range(6 if round_ == 0 else 1):
            await send(1, "increment")
        if forwarded(nodes[1]) > 0:
            break
    figures.show("forwarded to the owner of the work", str(forwarded(nodes[1])))
    if not forwarded(nodes[1]):
        figures.fault("the node without the work forwarded no intent to the node with it")
    await asyncio.wait_for(asyncio.gather(*streams), 120)
    figures.show("streams", "on both nodes show the intents")
    for link in links:
        link.close()


class Lookers:
    """Three clients that look at a list on two nodes. The first notes the numbers of all that it is told."""

    def __init__(self, world, nodes, balancer):
        self.figures, self.nodes, self.told = world.figures, nodes, []
        self.clients = [Client(world.notes, balancer.port, 200 + index) for index in range(3)]
        self.streams = []

    async def come(self):
        for client, node in zip(self.clients, (self.nodes[1], self.nodes[0], self.nodes[1])):
            await client.begin()
            self.streams.append(self.look(client, node))
        await self.tells(3)
        # A reload shows nobody going and nobody coming.
        told = len(self.told)
        self.streams[1].cancel()
        await asyncio.sleep(3)
        self.streams[1] = self.look(self.clients[1], self.nodes[0])
        await asyncio.sleep(3)
        if len(self.told) != told:
            self.figures.fault(f"a reload of three seconds was told: {self.told[told:]}")

    async def go(self):
        """One leaves, and another's node is killed."""
        began = time.monotonic()
        self.streams[2].cancel()
        await self.nodes[0].kill()
        for count, what in ((2, "one that left"), (1, "one of a killed node")):
            await self.tells(count)
            self.figures.show(f"gone: {what}", f"{time.monotonic() - began:.1f} s")
        for stream in self.streams:
            stream.cancel()
        for client in self.clients:
            client.close()
        await self.nodes[0].start()

    def look(self, client, node):
        async def watch():
            # A node that does not know the list's owner yet asks its clients to come again.
            while True:
                try:
                    async for event in Stream(node.port).events(f"/events?feature={LIST}", client.token):
                        if event.name == "presence" and client is self.clients[0]:
                            self.told.append(event.data["count"])
                except Lost:
                    pass
                await asyncio.sleep(1)
        return asyncio.create_task(watch())

    async def tells(self, count):
        await until(f"{count} clients look", lambda: self.told and self.told[-1] == count, 120)


async def shown(port, token, count):
    """Returns when a stream shows this count or a higher one."""
    follower = Stream(port)
    async for event in follower.events("/events?feature=counter", token):
        if event.name == "state" and event.data["state"]["count"] >= count:
            return


def forwarded(node):
    """The number of requests that other nodes answered for this one."""
    with urllib.request.urlopen(f"http://127.0.0.1:{node.admin}/metrics", timeout=20) as answer:
        text = answer.read().decode()
    found = re.search(r'^mvi_node_requests_total\{result="answered"\} (\d+)', text, re.MULTILINE)
    return int(found[1]) if found else 0


async def crowd(world, nodes, balancer):
    """Clients count through the proxy, run work and share lists, while a node is killed and another one is stopped."""
    clients = [Client(world.notes, balancer.port, index + 1, features=FEATURES) for index in range(20)]
    lists = Lists()
    callers = [Caller(world.notes, balancer.port, 100 + index, lists, f"checklist:{index % 2}") for index in range(8)]
    await begin_all(clients + callers)
    is_over = asyncio.Event()

    async def share(caller):
        while not is_over.is_set():
            await caller.step()

    async def count_on():
        while not is_over.is_set():
            await load(clients, 2, rate=60, work=0.3)

    async def acknowledged(count):
        target = world.notes.acknowledged + count
        await until(f"{count} more intents are acknowledged", lambda: world.notes.acknowledged >= target, 300)
    counting = asyncio.gather(count_on(), *map(share, callers))

    await acknowledged(60)
    await nodes[0].kill()
    world.figures.note(f"{nodes[0].name} was killed")
    await acknowledged(60)
    await nodes[0].start()
    await acknowledged(60)
    nodes[1].signal(TERMINATE)
    code = await nodes[1].ended(120)
    world.figures.note(f"{nodes[1].name} was stopped")
    if code != 0:
        world.figures.fault(f"{nodes[1].name} ended with {code} after SIGTERM")
    await acknowledged(60)
    await nodes[1].start()
    is_over.set()
    await counting
    await judge(clients, world.notes)
    await judge_lists(callers, lists, world.notes, world.figures)
    for client in clients + callers:
        client.close()
