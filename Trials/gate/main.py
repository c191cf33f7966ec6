"""Runs whole programs as people run them, and says what held. script/gate starts it.

Exit code: 0 everything held, 1 something did not (with a line FAULT for each), 2 a check could not run.
"""

import argparse
import asyncio
import importlib
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "nodes"))

# pylint: disable=wrong-import-position
from world import run_in_world  # noqa: E402

# In this order. Each module says in HOLDS what it holds.
NAMES = ("new", "breaks", "log", "upgrade", "full", "kill", "nodes", "tabs")


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
        check, began = importlib.import_module(f"checks.{name}"), time.monotonic()
        code = asyncio.run(run_in_world(check.run, given))
        results.append((code, f"{name:10} {time.monotonic() - began:4.0f} s  {check.HOLDS}"))
    print("--- gate")
    for code, text in results:
        print(f"{('held', 'FAILED', 'NOT RUN')[code]:8} {text}")
    sys.exit(max(code for code, _ in results))


if __name__ == "__main__":
    main()
