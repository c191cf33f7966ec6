"""Trials of script/trial as checks."""

import asyncio
import os
import pathlib

from figures import Failure

SCRIPT = pathlib.Path(__file__).parents[3] / "script" / "trial"


async def run(world, name):
    """Runs the short form of a trial. Its lines are those of the check."""
    process = await asyncio.create_subprocess_exec(
        SCRIPT, name, "--short", env={**os.environ, "MVI_SERVER": world.options.server})
    try:
        code = await asyncio.wait_for(process.wait(), 600)
    except BaseException:
        process.terminate()
        raise
    if code == 1:
        world.figures.fault(f"script/trial {name} found faults, above")
    elif code != 0:
        raise Failure(f"script/trial {name} could not run (code {code})")
