"""Two versions of a feature's schema at once; then nodes that are stopped in good order and started again, one by one."""

import asyncio
import time

from client import Client, begin_all, judge, load
from figures import Failure
from link import Link, Lost
from notes import Notes
from processes import TERMINATE


async def run(world):
    await _versions(world)
    await _rolling(world)


async def _versions(world):
    figures, sessions = world.figures, world.options.sessions or 50
    if not world.options.node_server:
        raise Failure("deploys needs --node-server")
    database = await world.database("versions")
    nodes = [
        await world.node(f"version{version}", database.url(), binary=world.options.node_server,
                         arguments=("nodes", f"v{version}" + ".{start}", str(version))).start()
        for version in (1, 2)]
    old, new = (Link(node.port) for node in nodes)
    tokens, sums, additions = [], [0] * sessions, [0] * sessions
    for _ in range(sessions):
        tokens.append((await old.ask("POST", "/sessions")).json()["token"])
    answers = {"old": {}, "new": {}}

    async def add(name, link, place):
        answer = await link.ask("POST", "/features/tally/intents", {"type": "add", "amount": 1}, tokens[place])
        key = f"{answer.status} {answer.problem() or ''}".strip()
        answers[name][key] = answers[name].get(key, 0) + 1
        if answer.status == 202:
            sums[place] += 1
        return answer.status

    for place in range(sessions):
        for _ in range(3):
            await add("old", old, place)
    # From here on each session is used at both.
    wrong = 0
    for turn in range(4):
        for place in range(sessions):
            if await add("new", new, place) == 202:
                additions[place] += 1
            status = await add("old", old, place)
            # Once it was migrated, the older version must not write it.
            wrong += status == 202
    stored = await database.sql("SELECT schema, count(*) FROM mvi.stores WHERE feature = 'tally' GROUP BY 1")
    figures.show("two versions", f"{sessions} sessions; the older answers {answers['old']}, the newer {answers['new']}")
    figures.none("migrated states that the older one wrote", wrong)
    figures.none("stores of the older version left", sum(int(count) for version, count in stored if version != "2"))
    differ = 0
    for place in range(sessions):
        answer = await new.ask("GET", "/features/tally/state", token=tokens[place])
        differ += answer.status != 200 or answer.json() != {"total": sums[place], "additions": additions[place]}
    figures.none("states that are not what was acknowledged", differ)
    read = await old.ask("GET", "/features/tally/state", token=tokens[0])
    figures.show("the older one, asked for the state", f"{read.status} {read.problem()}, Retry-After "
                                                       f"{read.fields.get('retry-after')}")
    if read.status != 503:
        figures.fault(f"the older version answers {read.status} for a newer state")
    for node in nodes:
        await node.kill()


async def _rolling(world):
    seconds, figures = world.length(120, 30), world.figures
    sessions = world.options.sessions or (60 if world.options.short else 300)
    database = await world.database("rolling")
    world.notes = notes = Notes(figures)
    nodes = await world.nodes(3, database.url())
    balancer = await world.balancer(nodes)
    clients = [Client(notes, balancer.port, index) for index in range(sessions)]
    await begin_all(clients)
    restarts, took = 0, []

    async def roll():
        nonlocal restarts
        while True:
            for node in nodes:
                await asyncio.sleep(2)
                began = time.monotonic()
                node.signal(TERMINATE)
                code = await node.ended()
                took.append(time.monotonic() - began)
                if code != 0:
                    figures.fault(f"{node.name} ended with {code} after SIGTERM: {node.said(3)}")
                await node.start()
                restarts += 1
    rolling = asyncio.create_task(roll())
    await load(clients, seconds, rate=min(200, sessions), work=0)
    # The node that is just on its way comes up first.
    rolling.cancel()
    if rolling.done() and not rolling.cancelled() and rolling.exception():
        raise rolling.exception()
    for node in nodes:
        if not node.lives():
            await node.start()
    await asyncio.sleep(3)
    figures.show("rolling restarts", f"{restarts} in {seconds} s, each stopped within {max(took, default=0):.1f} s")
    figures.none("streams cut without a goaway", notes.cut)
    if max(notes.waits, default=0) > 10:
        figures.fault(f"an intent waited {max(notes.waits):.1f} s")
    await judge(clients, notes)
    for client in clients:
        client.close()
