"""Tries the proxies of docs/proxies.md. script/trial proxies starts it.

Exit code: 0 everything held, 1 something did not (with a line FAULT for each), 2 it could not run.
"""

import argparse
import pathlib
import sys
import traceback

import connections
import measures
from links import is_served
from processes import Failure, Proxy, Server, await_, make_certificate


def main():
    options = argparse.ArgumentParser()
    options.add_argument("kinds", nargs="+", choices=("nginx", "haproxy", "apache"))
    options.add_argument("--server", required=True)
    options.add_argument("--folder", required=True, type=pathlib.Path)
    options.add_argument("--intents", type=int, default=500)
    given = options.parse_args()
    given.folder.mkdir(mode=0o711, exist_ok=True)
    # The proxies' processes may have another user.
    given.folder.chmod(0o711)

    certificate, started, faults = make_certificate(given.folder), [], 0

    def start(made):
        started.append(made)
        return made

    def hold(part, *arguments):
        nonlocal faults
        try:
            part(*arguments)
        except (AssertionError, Failure, OSError) as reason:
            faults += 1
            place = traceback.extract_tb(reason.__traceback__)[1]
            print(f"FAULT: {part.__name__}: {reason} ({pathlib.Path(place.filename).name}:{place.lineno})", flush=True)

    try:
        public = ("--public-url", "https://mvi.example.com")
        flags = ("--max-streams-per-session", "32", "--max-receipts", "100000", "--receipt-bytes", "64MiB", *public)
        server = start(Server(given.server, given.folder, "--heartbeat", f"{measures.HEARTBEAT}s", *flags))
        slow = start(Server(given.server, given.folder, *flags))
        counting = start(Server(given.server, given.folder, "--max-streams-per-address", "2", *public))
        proxies = [start(Proxy(kind, server, given.folder, certificate)) for kind in given.kinds]
        for proxy in proxies:
            print(f"--- {proxy.kind}", flush=True)
            # The part before may have had the server away.
            await_(f"{proxy.kind} finds the server", lambda: is_served(proxy.port, certificate))
            hold(measures.delays, proxy.kind, server, proxy, certificate, given.intents)
            hold(measures.resume, proxy.kind, server, proxy, certificate)
            hold(measures.quiet, proxy.kind, server, slow, given.folder, certificate)
            hold(measures.gone, proxy.kind, server, proxy, certificate)
            hold(measures.heads, proxy.kind, counting, given.folder, certificate)
            hold(measures.away, proxy.kind, server, proxy, certificate)
        print("--- a browser", flush=True)
        hold(connections.connections, server, proxies)
    except Failure as reason:
        print(f"script/trial: {reason}", file=sys.stderr)
        sys.exit(2)
    finally:
        for each in reversed(started):
            each.close()
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
