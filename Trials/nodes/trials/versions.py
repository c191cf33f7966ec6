"""The last release beside this build: nodes of both on one database, replaced one by one, a data folder of both, and the
clients of each with the server of the other."""

import asyncio
import sqlite3

from client import Client, begin_all, judge, load
from driver import Driver
from figures import Failure
from link import Link
from nodes import ROOT
from notes import Notes
from processes import TERMINATE


async def run(world):
    if not world.options.older:
        raise Failure("versions needs --older, the server of the last release")
    await _deploy(world)
    await _folder(world)
    for name, commands in _clients(world).items():
        await _client(world, name, *commands)


async def _deploy(world):
    seconds, figures = world.length(120, 40), world.figures
    sessions = world.options.sessions or (60 if world.options.short else 300)
    database = await world.database("deploy")
    world.notes = notes = Notes(figures)
    older, newer = world.options.older, world.options.server
    nodes = [await world.node(f"node{place + 1}", database.url(), binary=older).start() for place in range(3)]
    before = int(await database.value("SELECT version FROM mvi.meta"))
    balancer = await world.balancer(nodes)
    clients = [Client(notes, balancer.port, index) for index in range(sessions)]
    await begin_all(clients)
    rounds = []

    async def replace(node, binary):
        await asyncio.sleep(2)
        node.signal(TERMINATE)
        if (code := await node.ended()) != 0:
            figures.fault(f"{node.name} ended with {code} after SIGTERM: {node.said(3)}")
        node.binary = binary
        await node.start()

    async def deploy():
        # The first newer node migrates the schema while older ones serve.
        await replace(nodes[0], newer)
        after, oldest = map(int, (await database.sql("SELECT version, minimum FROM mvi.meta"))[0])
        for node in nodes[1:]:
            await replace(node, newer)
        rounds.append("forward")
        while oldest <= before:
            for binary, name in ((older, "back"), (newer, "forward")):
                for node in nodes:
                    await replace(node, binary)
                rounds.append(name)
        await _refused(world, database, older, after)

    deploying = asyncio.create_task(deploy())
    await load(clients, seconds, rate=min(200, sessions), work=0.2)
    if not deploying.done():
        # A node that is on its way comes up first.
        await asyncio.sleep(0)
        deploying.cancel()
    elif deploying.exception():
        raise deploying.exception()
    for node in nodes:
        if not node.lives():
            await node.start()
    await asyncio.sleep(3)
    if "forward" not in rounds:
        raise Failure("no deploy was completed: give it a greater LENGTH")
    after = await database.value("SELECT version FROM mvi.meta")
    figures.show("deploys", f"{', '.join(rounds)} under load, from the schema {before} to {after}")
    figures.none("streams cut without a goaway", notes.cut)
    if max(notes.waits, default=0) > 20:
        figures.fault(f"an intent waited {max(notes.waits):.1f} s")
    await judge(clients, notes)
    for client in clients:
        client.close()
    for node in nodes:
        await node.kill()


async def _refused(world, database, older, schema):
    """A program whose schema may not be used any more says so, and ends."""
    node = await world.node("refused", database.url(), binary=older).start(wait=False)
    if await node.ended(30) == 0 or node.count(str(schema)) == 0:
        world.figures.fault(f"an older node on schema {schema} did not refuse it: {node.said()}")


async def _folder(world):
    """A folder of the last release goes forward with its sessions. Back it goes only if the schema is the same."""
    figures = world.figures
    node = await world.node("folder", "sqlite", binary=world.options.older).start()
    link, tokens = Link(node.port), []
    for _ in range(20):
        tokens.append((await link.ask("POST", "/sessions")).json()["token"])

    async def count_on(expected):
        wrong = 0
        for token in tokens:
            answer = await link.ask(
                "POST", "/features/counter/intents", {"type": "add", "amount": 1}, token, prefer="return=representation"
            )
            wrong += answer.status != 200 or answer.json()["count"] != expected
        return wrong

    async def restart(binary, wait=True):
        nonlocal link
        link.close()
        node.signal(TERMINATE)
        await node.ended()
        node.binary = binary
        await node.start(wait)
        link = Link(node.port)

    wrong = await count_on(1)
    before = await _schema(node)
    await restart(world.options.server)
    wrong += await count_on(2)
    after = await _schema(node)
    figures.none(f"sessions of a folder that did not go on, schema {before} to {after}", wrong)
    if before == after:
        await restart(world.options.older)
        figures.none("sessions that did not go back", await count_on(3))
    else:
        await restart(world.options.older, wait=False)
        if await node.ended(30) == 0 or node.count("newer|schema") == 0:
            figures.fault(f"an older server on schema {after} did not refuse it: {node.said()}")
        node.binary = world.options.server
        await node.start()
        link = Link(node.port)
        figures.none("sessions that an older server's refusal harmed", await count_on(3))
    link.close()


async def _schema(node):
    database = sqlite3.connect(f"file:{node.folder / 'journal.sqlite'}?mode=ro", uri=True)
    try:
        return database.execute("PRAGMA user_version").fetchone()[0]
    finally:
        database.close()


def _clients(world):
    """The drivers of the three clients, the last release's and this build's."""
    def commands(folder):
        return {"JavaScript": ["node", f"{folder}/Clients/JavaScript/driver.mjs"],
                "Swift": [f"{folder}/.build/debug/swift-client-driver"], "Kotlin": [f"{folder}/Clients/Kotlin/driver"]}
    older, newer = commands(world.options.older_root), commands(ROOT)
    return {name: (older[name], newer[name]) for name in older}


async def _client(world, name, older, newer):
    """An app of the last release with today's server, updated; and one of today with the server of the last release."""
    options = world.options
    for server, apps in ((options.server, (older, newer)), (options.older, (newer,))):
        version = "this build" if server == options.server else "the last release"
        node = await world.node(f"{name}-{len(apps)}", "sqlite", binary=server, demo_latency="10ms").start()
        count = 0
        for app in apps:
            driver = Driver(f"the client in {name}, {'older' if app is older else 'newer'}", app)
            try:
                count = await _use(driver, node, count)
            finally:
                driver.kill()
        world.figures.show(f"clients in {name}", f"{len(apps)} with the server of {version}: {count} intents, each once")
        node.signal(TERMINATE)
        await node.ended()


async def _use(driver, node, count):
    """Uses every kind of message, with a restart in between. `count` and the result are the counter's."""
    def counts(number):
        return lambda state: state["count"] == number
    await driver.open(f"http://127.0.0.1:{node.port}", ["counter", "checklist:home", "lesson-detail:7"], node.folder)
    await driver.sees("condition", condition="live")
    # The session is the one of before, if there was one.
    await driver.sees("state", feature="counter", state=counts(count))
    for tag in ("a", "b"):
        await driver.send("counter", {"type": "increment"}, tag)
        await driver.sees("sent", tag=tag)
    await driver.sees("state", feature="counter", state=counts(count + 2))
    await driver.send("counter", {"type": "add", "amount": 0.5}, "refused")
    await driver.sees("refused", tag="refused", status=422)
    await driver.send("checklist:home", {"type": "add", "text": "milk"}, "shared")
    await driver.sees("state", feature="checklist:home", state=lambda state: bool(state["items"]))
    await driver.send("lesson-detail:7", {"type": "resendConfirmation"}, "label")
    await driver.sees("label", feature="lesson-detail:7")
    driver.forget()
    node.signal(TERMINATE)
    await node.ended()
    # While the server is away.
    await driver.send("counter", {"type": "increment"}, "away")
    await node.start()
    await driver.sees("sent", tag="away")
    await driver.sees("condition", condition="live")
    await driver.sees("state", feature="counter", state=counts(count + 3))
    if (code := await driver.close()) != 0:
        raise Failure(f"{driver.name} ended with {code}")
    return count + 3
