"""Callers share lists through a proxy that keeps none at a node, while a node is killed every ten seconds."""

import asyncio
import time

from callers import Caller, Lists, judge_lists, visit
from client import begin_all
from figures import milliseconds


async def run(world):
    seconds, figures = world.length(1800, 30), world.figures
    sessions = world.options.sessions or (30 if world.options.short else 200)
    database = await world.database()
    nodes = await world.nodes(3, database.url())
    balancer = await world.balancer(nodes)
    lists = Lists()
    callers = [
        Caller(world.notes, balancer.port, index, lists, f"checklist:{index * 10 // sessions}") for index in range(sessions)]
    await begin_all(callers)
    figures.note(f"{sessions} streams are live")
    kills, visits, end = 0, 0, time.monotonic() + seconds

    async def write(caller):
        await asyncio.sleep(caller.random.random())
        while time.monotonic() < end:
            await caller.step()
            await asyncio.sleep(caller.random.random() / 2)

    async def kill():
        nonlocal kills
        await asyncio.sleep(3)
        while time.monotonic() < end - 5:
            node = nodes[kills % len(nodes)]
            kills += 1
            figures.note(f"{node.name} is killed; {world.notes.acknowledged} intents acknowledged so far")
            await node.kill()
            await asyncio.sleep(1)
            await node.start()
            await asyncio.sleep(9)

    async def come():
        nonlocal visits
        while time.monotonic() < end:
            await visit(world.notes, balancer.port, f"checklist:{visits % 10}")
            visits += 1
            await asyncio.sleep(0.3)
    await asyncio.gather(kill(), come(), *map(write, callers))
    for node in nodes:
        if not node.lives():
            await node.start()
    figures.show("nodes", f"{kills} times one of three was killed")
    figures.show("callers", f"{sessions} with a stream each, {visits} newcomers, for {seconds} s")
    figures.show("answers", milliseconds(world.notes.first_tries))
    await judge_lists(callers, lists, world.notes, figures)
    for caller in callers:
        caller.close()
