"""Tries several nodes on one PostgreSQL database. script/trial nodes starts it.

Exit code: 0 everything held, 1 something did not (with a line FAULT for each), 2 it could not run.
"""

import argparse
import asyncio
import importlib
import resource
import sys

from world import run_in_world

NAMES = ("kills", "failover", "zombie", "partitions", "no-hints", "hot", "cost", "million", "deploys", "database",
         "backwards", "half", "forget", "shared", "deletions", "messages", "presence", "versions")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("names", nargs="+", choices=(*NAMES, "all"))
    options.add_argument("--server", required=True, help="mvi-server")
    options.add_argument("--node-server", help="trial-server, for zombie, deploys, forget and messages")
    options.add_argument("--older", help="mvi-server of the last release, for versions")
    options.add_argument("--older-root", help="the tree of the last release, for its clients")
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
        trial = importlib.import_module("trials." + name.replace("-", "_"))
        code = max(code, asyncio.run(run_in_world(trial.run, given)))
    sys.exit(code)


if __name__ == "__main__":
    main()
