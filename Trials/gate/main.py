"""Runs whole programs as people run them, and says what held. script/gate starts it.

Exit code: 0 everything held, 1 something did not (with a line FAULT for each), 2 a check could not run.
"""

import argparse
import asyncio
import importlib
import os
import pathlib
import signal
import sys
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "nodes"))

# pylint: disable=wrong-import-position
from figures import Failure  # noqa: E402
from link import Lost  # noqa: E402
from world import World  # noqa: E402

# In this order. Each module says in HOLDS what it holds.
NAMES = ("log", "upgrade", "full", "kill", "nodes")


async def check(name, options):
    """Runs one check; returns its exit code."""
    module = importlib.import_module(f"checks.{name}")
    world = World(options)
    task = asyncio.current_task()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    code = 2
    try:
        await module.run(world)
        code = 0
    except (Failure, Lost) as reason:
        world.figures.fault(f"the check ended early: {reason}")
    finally:
        await world.close()
        world.figures.end()
    return 1 if world.figures.faults else code


def main():
    options = argparse.ArgumentParser()
    options.add_argument("names", nargs="*", metavar="NAME", help=f"all without one: {', '.join(NAMES)}")
    options.add_argument("--server", required=True, help="mvi-server")
    options.add_argument("--keep", action="store_true", help="keep the folders with data and logs")
    given = options.parse_args()
    if unknown := set(given.names) - set(NAMES):
        options.error(f"no check: {', '.join(unknown)}; they are {', '.join(NAMES)}")
    given.length, given.short, given.server = 0, True, os.path.abspath(given.server)
    results = []
    for name in given.names or NAMES:
        print(f"--- gate {name}", flush=True)
        began = time.monotonic()
        results.append((name, asyncio.run(check(name, given)), time.monotonic() - began))
    print("--- gate")
    for name, code, seconds in results:
        holds = importlib.import_module(f"checks.{name}").HOLDS
        print(f"{('held', 'FAILED', 'NOT RUN')[code]:8} {name:10} {seconds:4.0f} s  {holds}")
    sys.exit(max(code for _, code, _ in results))


if __name__ == "__main__":
    main()
