"""Packages of one's own from script/new. They take the modules that the server's build made, so only their own code is built."""

import asyncio
import pathlib
import re

from figures import Failure
from link import Link
from nodes import ROOT

# Packages of Debian's base image.
BASE = {"libc6", "libgcc-s1", "libstdc++6"}
HOLDS = "packages that script/new writes, also --like shared, are built, serve page and feature, and keep sessions over a kill"


async def run(world):
    package, program = await built(world, "daily-poll", "--feature", "DailyPoll")
    await expect_libraries(world, package, program)
    node = await world.node("daily-poll", "sqlite", binary=program).start()
    link = Link(node.port)
    await expect_page(world, link, "DailyPoll")
    token = (await link.ask("POST", "/sessions", {"credential": "bearer"})).json()["token"]
    answer = await link.ask("POST", "/features/daily-poll/intents", {"type": "add", "amount": 5}, token)
    if answer.status != 202:
        world.figures.fault(f"the intent was answered {answer.status} {answer.problem()}")
    link.close()
    await node.kill()
    await node.start()
    link = Link(node.port)
    await expect_state(world, link, token, "daily-poll", {"count": 5})
    link.close()

    package, program = await built(world, "queue-desk", "--like", "shared", "--feature", "FrontDesk")
    await expect_libraries(world, package, program)
    development = package / "development"
    node = await world.node("queue-desk", "sqlite", binary=development, arguments=[str(program)]).start()
    link = Link(node.port)
    await expect_page(world, link, "FrontDesk")
    identity = (await call(development, "token", "Kim")).strip()
    guest, staff = [
        (await link.ask("POST", "/sessions", {"credential": "bearer", **who})).json()["token"]
        for who in ({}, {"identity": identity})
    ]
    for intent, token, status in (
        ({"type": "join", "name": "Ann"}, guest, 202), ({"type": "call"}, guest, 403), ({"type": "call"}, staff, 202),
    ):
        answer = await link.ask("POST", "/features/front-desk/intents", intent, token)
        if answer.status != status:
            world.figures.fault(f"{intent} was answered {answer.status} {answer.problem()}, not {status}")
    link.close()
    await node.kill()
    await node.start()
    link = Link(node.port)
    await expect_state(world, link, guest, "front-desk", {"type": "called", "number": 1})
    called = [{"number": 1, "name": "Ann"}]
    await expect_state(world, link, staff, "front-desk", {"type": "staff", "waiting": [], "called": called})
    link.close()


async def built(world, name, *arguments):
    """A package and its program."""
    # The server is SCRATCH/CONFIGURATION/mvi-server.
    configuration = pathlib.Path(world.options.server).parent
    if configuration.name not in ("release", "debug"):
        raise Failure(f"{world.options.server} is in no build folder, whose modules the package could take")
    package = world.path / f"package-{name}"
    await call(ROOT / "script" / "new", name, package, *arguments)
    # With its cache SwiftPM may take the plan of the package that was built there before.
    await call("swift", "build", "--package-path", package, "--scratch-path", configuration.parent, "-c", configuration.name,
               "--product", name, "--disable-build-manifest-caching")
    return package, configuration / name


async def expect_libraries(world, package, program):
    """The image installs each package of the system whose library the program links, and no other."""
    linked = set(re.findall(r"NEEDED.*\[(.+)\]", await call("readelf", "--dynamic", program)))
    packages = set()
    for library in linked:
        try:
            packages.add((await call("dpkg-query", "--search", f"*/{library}")).partition(":")[0])
        except Failure:
            # Swift's own libraries are linked statically in the image.
            pass
    stage = (package / "Dockerfile").read_text(encoding="utf-8").rpartition("\nFROM ")[2]
    installed = set(re.search(r"--no-install-recommends ([a-z0-9. -]+)", stage)[1].split()) - {"ca-certificates"}
    if packages - BASE != installed:
        world.figures.fault(f"{program.name} links {sorted(packages - BASE)}, and its image installs {sorted(installed)}")


async def expect_page(world, link, title):
    page = await link.ask("GET", "/")
    if page.status != 200 or f"<h1>{title}</h1>".encode() not in page.body:
        world.figures.fault(f"the page is not there: {page.status}")


async def expect_state(world, link, token, feature, expected):
    state = await link.ask("GET", f"/features/{feature}/state", token=token)
    if state.status != 200 or state.json() != expected:
        world.figures.fault(f"after a kill the state of {feature} is {state.status} {state.body!r}")


async def call(*command):
    process = await asyncio.create_subprocess_exec(
        *map(str, command), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
    try:
        output, _ = await asyncio.wait_for(process.communicate(), 900)
    except BaseException:
        process.terminate()
        raise
    text = output.decode(errors="replace")
    if process.returncode != 0:
        raise Failure(f"{command[0]} ended with {process.returncode}: {text[-2000:]}")
    return text
