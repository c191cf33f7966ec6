"""Runs the checks in one browser. script/browsers starts it, and has its options."""

import argparse
import sys
import time
import traceback

from checks import all_checks
from engines import ENGINES
from server import Server
from visit import Visit


def main():
    options = argparse.ArgumentParser()
    options.add_argument("engine", choices=ENGINES)
    options.add_argument("--server", required=True)
    options.add_argument("--only", default="")
    given = options.parse_args()

    checks = [(name, check) for name, check in all_checks() if given.only in name or given.only == check.__name__]
    if not checks:
        sys.exit(f"no check has {given.only!r} in its name")
    server, browser, failed = Server(given.server), None, 0
    began = time.monotonic()
    try:
        server.start()
        browser = ENGINES[given.engine]()
        for name, check in checks:
            failed += not _passes(given.engine, name, check, browser, server)
    finally:
        if browser:
            browser.close()
        server.close()
    print(f"{given.engine}: {len(checks) - failed} of {len(checks)} checks passed "
          f"in {time.monotonic() - began:.0f} s", flush=True)
    sys.exit(1 if failed else 0)


def _passes(engine, name, check, browser, server):
    began = time.monotonic()
    visit = Visit(browser, server)
    reason = None
    try:
        check(visit)
        errors = visit.unexpected_errors()
        assert not errors, f"errors in the console: {errors}"
    except AssertionError as failure:
        place = traceback.extract_tb(failure.__traceback__)
        line = next((each for each in reversed(place) if "/checks/" in each.filename), place[-1])
        reason = f"{failure} [{line.filename.rsplit('/', 1)[-1]}:{line.lineno}: {line.line}]"
    except Exception:  # noqa: BLE001: the other checks run all the same
        reason = traceback.format_exc()
    finally:
        try:
            visit.close()
        except Exception as trouble:  # noqa: BLE001
            reason = reason or f"the tabs could not be closed: {trouble}"
    if server.process.poll() is not None:
        # Killed by a check that failed before it started it again, or by itself, which is a failure.
        reason = reason or f"the server ended with {server.process.returncode}: {server.last_lines()}"
        server.start()
    print(f"{'FAILED' if reason else 'passed'}  {engine}: {name} ({time.monotonic() - began:.1f} s)", flush=True)
    if reason:
        print("        " + reason.strip().replace("\n", "\n        "), flush=True)
    return reason is None


if __name__ == "__main__":
    main()
