"""A package of one's own from script/new. It takes the modules that the server's build made, so only its own code is built."""

import asyncio
import pathlib

from figures import Failure
from link import Link
from nodes import ROOT

HOLDS = "a package that script/new writes is built, serves its page and its feature, and keeps a session over a kill"


async def run(world):
    # The server is SCRATCH/CONFIGURATION/mvi-server.
    configuration = pathlib.Path(world.options.server).parent
    if configuration.name not in ("release", "debug"):
        raise Failure(f"{world.options.server} is in no build folder, whose modules the package could take")
    package = world.path / "package"
    await call(ROOT / "script" / "new", "daily-poll", package, "--feature", "DailyPoll")
    await call("swift", "build", "--package-path", package, "--scratch-path", configuration.parent, "-c", configuration.name,
               "--product", "daily-poll")
    node = await world.node("daily-poll", "sqlite", binary=configuration / "daily-poll").start()
    link = Link(node.port)
    page = await link.ask("GET", "/")
    if page.status != 200 or b"<h1>DailyPoll</h1>" not in page.body:
        world.figures.fault(f"the page is not there: {page.status}")
    token = (await link.ask("POST", "/sessions", {"credential": "bearer"})).json()["token"]
    answer = await link.ask("POST", "/features/daily-poll/intents", {"type": "add", "amount": 5}, token)
    if answer.status != 202:
        world.figures.fault(f"the intent was answered {answer.status} {answer.problem()}")
    link.close()
    await node.kill()
    await node.start()
    link = Link(node.port)
    state = await link.ask("GET", "/features/daily-poll/state", token=token)
    if state.status != 200 or state.json() != {"count": 5}:
        world.figures.fault(f"after a kill the state is {state.status} {state.body!r}")
    link.close()


async def call(*command):
    process = await asyncio.create_subprocess_exec(
        *map(str, command), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
    try:
        output, _ = await asyncio.wait_for(process.communicate(), 900)
    except BaseException:
        process.terminate()
        raise
    if process.returncode != 0:
        raise Failure(f"{command[0]} ended with {process.returncode}: {output.decode(errors='replace')[-2000:]}")
