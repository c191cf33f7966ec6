"""A node is stopped for a minute in the middle of launched work, and goes on afterwards: another one has the work then."""

import asyncio
import json
import time

from client import Client
from figures import Failure
from link import Link, Lost
from processes import CONTINUE, STOP


async def run(world):
    seconds, figures = world.length(60, 30), world.figures
    sessions = world.options.sessions or 20
    if not world.options.node_server:
        raise Failure("zombie needs --node-server")
    database = await world.database()
    nodes = []
    for name in ("a", "b", "c"):
        # The number of its start is a part of the name that a process writes down.
        node = world.node(name, database.url(), binary=world.options.node_server, arguments=("nodes", name + ".{start}", "1"))
        nodes.append(await node.start())
    stopped, others = nodes[0], nodes[1:]
    # The work begins at the node that will be stopped.
    clients = [Client(world.notes, stopped.port, index, features=("steps",)) for index in range(sessions)]
    for client in clients:
        await client.begin()
        await client.send("steps", {"type": "take", "steps": (seconds + 40) * 10})
    await asyncio.sleep(3)
    links = [Link(others[place % 2].port) for place in range(sessions)]

    async def state(client, link):
        try:
            answer = await link.ask("GET", "/features/steps/state", token=client.token, patience=8)
            return answer.json() if answer.status == 200 else None
        except Lost:
            return None

    async def states():
        return await asyncio.gather(*map(state, clients, links))

    before = await states()
    figures.note(f"before: {json.dumps(before[0])}")
    stopped.signal(STOP)
    began, taken_over = time.monotonic(), None
    while time.monotonic() - began < seconds:
        await asyncio.sleep(0.5)
        if taken_over is None and all(state and state["runs"] and state["runs"][-1]["process"] != "a.1" for state in await states()):
            taken_over = time.monotonic() - began
            figures.note(f"all work is at other nodes after {taken_over:.1f} s")
    stopped.signal(CONTINUE)
    figures.note("the node goes on")
    await asyncio.sleep(10)
    after = await states()
    late, gaps, examples = 0, 0, []
    for state in after:
        if state is None:
            figures.fault("a state cannot be read at the end")
            continue
        runs = state["runs"]
        # Once another process took a step, none of the stopped one's may follow.
        places = [place for place, each in enumerate(runs) if each["process"] == "a.1"]
        if places and places[-1] != len(places) - 1:
            late += sum(runs[place]["last"] - runs[place]["first"] + 1 for place in places[1:])
            examples.append(runs)
        expected = 1
        for each in runs:
            gaps += each["first"] != expected
            expected = each["last"] + 1
    figures.show("work", f"{sessions} sessions with a step each 100 ms; the node was stopped for {seconds} s")
    if taken_over is None:
        figures.fault(f"other nodes did not take all work over within {seconds} s; the first session's runs: "
                      f"{after[0] and after[0]['runs']}")
    else:
        figures.show("others have all work after", f"{taken_over:.1f} s")
    figures.none("steps of the stopped node after that", late, examples)
    figures.none("steps lost or taken twice", gaps)
    # The one that was stopped serves again.
    status = await stopped.readiness()
    figures.show("the stopped node afterwards", f"readiness {status}")
    answer = await Link(stopped.port).ask("GET", "/features/steps/state", token=clients[0].token)
    if answer.status != 200:
        figures.fault(f"the stopped node answers {answer.status} {answer.problem()} afterwards")
    for each in (*clients, *links):
        each.close()
