"""Tries several nodes on one PostgreSQL database. script/trial nodes starts it.

Exit code: 0 everything held, 1 something did not (with a line FAULT for each), 2 it could not run.
"""

import argparse
import asyncio
import importlib
import resource
import signal
import sys

from figures import Failure
from link import Lost
from world import World

NAMES = ("kills", "failover", "zombie", "partitions", "no-hints", "hot", "cost", "million", "deploys", "database",
         "backwards", "half", "forget")


async def run(name, options):
    world = World(options)
    task = asyncio.current_task()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    code = 2
    try:
        await importlib.import_module("trials." + name.replace("-", "_")).run(world)
        code = 0
    except (Failure, Lost) as reason:
        # Nodes that do not come up again are a broken promise where everything else had come up.
        world.figures.fault(f"the trial ended early: {reason}")
    except asyncio.CancelledError:
        world.figures.note("stopped")
    finally:
        await world.close()
        world.figures.end()
    return 1 if world.figures.faults else code


def main():
    options = argparse.ArgumentParser()
    options.add_argument("names", nargs="+", choices=(*NAMES, "all"))
    options.add_argument("--server", required=True, help="mvi-server")
    options.add_argument("--node-server", help="trial-server, for zombie, deploys and forget")
    options.add_argument("--tools", help="the folder with loadgen and hot")
    options.add_argument("--short", action="store_true", help="seconds instead of minutes")
    options.add_argument("--length", type=int, default=0, help="seconds, rounds or sessions, whatever the trial counts")
    options.add_argument("--sessions", type=int, default=0)
    options.add_argument("--keep", action="store_true", help="keep the folder with data and logs")
    given = options.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    names = NAMES if "all" in given.names else given.names
    code = 0
    for name in names:
        print(f"--- nodes {name}", flush=True)
        code = max(code, asyncio.run(run(name, given)))
    sys.exit(code)


if __name__ == "__main__":
    main()
