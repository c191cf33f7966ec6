"""Breaks that are planted into the surfaces of this tree and into the features of the built server."""

import asyncio

from figures import Failure
from nodes import ROOT

HOLDS = "planted breaks of contract, Swift, clients, journals, features and commands are found, each with whom it hits"


async def run(world):
    process = await asyncio.create_subprocess_exec(
        ROOT / ".build-check/bin/python",
        ROOT / "script/lib/release/planted.py",
        world.options.server,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 600)
    for line in output.decode().splitlines() if process.returncode == 1 else []:
        world.figures.fault(line)
    if process.returncode not in (0, 1):
        raise Failure(f"planted.py ended with {process.returncode}: {output.decode()[-2000:]}")
