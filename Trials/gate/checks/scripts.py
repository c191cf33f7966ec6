"""Scripts of the repository as checks."""

import asyncio
import os

from figures import Failure
from nodes import ROOT


async def run(world, name, *arguments):
    """Runs a script with the gate's server. Its lines are those of the check."""
    process = await asyncio.create_subprocess_exec(
        ROOT / "script" / name, *arguments, env={**os.environ, "MVI_SERVER": world.options.server})
    try:
        code = await asyncio.wait_for(process.wait(), 600)
    except BaseException:
        process.terminate()
        raise
    if code == 1:
        world.figures.fault(f"script/{name} {' '.join(arguments)} found faults, above")
    elif code != 0:
        raise Failure(f"script/{name} {' '.join(arguments)} could not run (code {code})")
