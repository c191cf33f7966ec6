"""Nodes in network namespaces: one is cut off from the database, from its clients, from the others. Needs root."""

import asyncio
import os
import subprocess
import time

from client import Client, begin_all, judge
from figures import Failure
from link import Link, Lost
from processes import until

NET = "10.213.77."


def _do(*command, check=True):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and result.returncode != 0:
        raise Failure(f"{' '.join(command)}: {result.stderr.strip()}")
    return result.returncode == 0


class Network:
    """A bridge with an address of its own for the database and the proxy, and a namespace for each node."""

    def __init__(self, count):
        self.mark = os.getpid() % 100000
        self.bridge, self.names = f"mvib{self.mark}", [f"mvi{self.mark}n{place}" for place in range(count)]
        self.addresses = [f"{NET}{10 + place}" for place in range(count)]

    def make(self):
        _do("ip", "link", "add", self.bridge, "type", "bridge")
        _do("ip", "addr", "add", f"{NET}1/24", "dev", self.bridge)
        _do("ip", "link", "set", self.bridge, "up")
        for place, name in enumerate(self.names):
            outer, inner = f"mvo{self.mark}-{place}", f"mvi{self.mark}-{place}"
            _do("ip", "netns", "add", name)
            _do("ip", "link", "add", outer, "type", "veth", "peer", "name", inner)
            _do("ip", "link", "set", inner, "netns", name)
            _do("ip", "link", "set", outer, "master", self.bridge, "up")
            _do("ip", "-n", name, "addr", "add", f"{self.addresses[place]}/24", "dev", inner)
            _do("ip", "-n", name, "link", "set", inner, "up")
            _do("ip", "-n", name, "link", "set", "lo", "up")

    def cut(self, place, *matches):
        """Packets that match are lost without a word, in both directions as they are written."""
        rules = "\n".join(
            f"add rule inet mvi {'input' if match.startswith('in ') else 'output'} {match.split(' ', 1)[1]} drop"
            for match in matches)
        script = ("add table inet mvi\nadd chain inet mvi input { type filter hook input priority 0; }\n"
                  "add chain inet mvi output { type filter hook output priority 0; }\n" + rules + "\n")
        result = subprocess.run(
            ["ip", "netns", "exec", self.names[place], "nft", "-f", "-"], input=script, capture_output=True, text=True,
            check=False)
        if result.returncode != 0:
            raise Failure(f"nft: {result.stderr}")

    def mend(self, place):
        _do("ip", "netns", "exec", self.names[place], "nft", "flush", "ruleset")

    def remove(self):
        for name in self.names:
            _do("ip", "netns", "del", name, check=False)
        _do("ip", "link", "del", self.bridge, check=False)


async def run(world):
    seconds, figures = world.length(40, 12), world.figures
    sessions = world.options.sessions or (60 if world.options.short else 200)
    if os.geteuid() != 0:
        raise Failure("partitions needs root, for network namespaces")
    network = Network(3)
    try:
        network.make()
        database = await world.database(addresses=f"127.0.0.1,{NET}1")
        nodes = []
        for place, name in enumerate(network.names):
            nodes.append(await world.node(
                f"node{place + 1}", database.url(host=f"{NET}1"), host=network.addresses[place], namespace=name,
                heartbeat="4s").start())
        balancer = await world.balancer(nodes)
        clients = [
            Client(world.notes, balancer.port, index, features=("counter", "user-info")) for index in range(sessions)]
        await begin_all(clients)
        stop = asyncio.Event()

        async def count(client):
            while not stop.is_set():
                if client.random.random() < 0.1:
                    await client.send("user-info", {"type": "reload"})
                else:
                    await client.add(client.random.choice((1, 4, 10)))
                if client.random.random() < 0.2:
                    await client.read()
                await asyncio.sleep(sessions / 100 * (0.5 + client.random.random()))
        counting = [asyncio.create_task(count(client)) for client in clients]
        # The node's own side of it; each list is both directions.
        cuts = {
            "the database": lambda place: [f"out tcp dport {database.port}", f"in tcp sport {database.port}"],
            "its clients": lambda place: [
                f"in ip saddr {NET}1 tcp dport {nodes[place].port}", f"out ip daddr {NET}1 tcp sport {nodes[place].port}"],
            "the other nodes": lambda place: [
                f"{way} ip {kind} {{ {', '.join(each for each in network.addresses if each != network.addresses[place])} }}"
                for way, kind in (("in", "saddr"), ("out", "daddr"))],
        }
        for place, (name, rules) in enumerate(cuts.items()):
            await asyncio.sleep(4)
            before, wrong, waits = world.notes.acknowledged, len(world.notes.wrong), len(world.notes.waits)
            network.cut(place, *rules(place))
            figures.note(f"node{place + 1} is cut off from {name}")
            await asyncio.sleep(seconds)
            meanwhile = world.notes.acknowledged - before
            readiness = await nodes[place].readiness()
            network.mend(place)
            began = time.monotonic()
            await until(f"node{place + 1} is ready again", nodes[place].is_ready, 60)
            link = Link(nodes[place].port, network.addresses[place])

            async def serves():
                try:
                    answer = await link.ask("POST", "/features/counter/intents", {"type": "add", "amount": 0},
                                            clients[0].token, patience=2)
                    return answer.status == 202
                except Lost:
                    return False
            await until(f"node{place + 1} serves again", serves, 60)
            link.close()
            figures.show(f"cut off from {name}", f"for {seconds} s: {meanwhile} intents acknowledged, its readiness "
                                                 f"{readiness}; heals {time.monotonic() - began:.1f} s after, "
                                                 f"an intent waited {max(world.notes.waits[waits:], default=0):.1f} s at most")
            if meanwhile == 0:
                figures.fault(f"cut off from {name}: no intent was acknowledged by the others")
            figures.none("wrong answers", len(world.notes.wrong) - wrong, world.notes.wrong[wrong:])
        stop.set()
        for result in await asyncio.gather(*counting, return_exceptions=True):
            if isinstance(result, BaseException):
                world.notes.say(f"a client: {type(result).__name__}: {result}")
        await asyncio.sleep(5)
        await judge(clients, world.notes, old_reads_allowed=True)
        for client in clients:
            client.close()
    finally:
        for each in world.started:
            await each.kill()
        network.remove()
