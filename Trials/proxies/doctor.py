"""Asks mvi-server doctor about proxies with right and with wrong settings. script/trial doctor starts it.

Exit code: 0 it said what it had to, 1 it did not (with a line FAULT for each), 2 it could not run.
"""

import argparse
import json
import pathlib
import subprocess
import sys

from links import is_served
from processes import Failure, Proxy, Server, await_, free_port, make_certificate
from setups import SETUPS

# Doctor comes from 127.0.0.1, so the proxies reach the server from another address, the only one that is trusted.
_PROXY = "127.0.0.9"
_SOURCES = {
    "nginx": (r"^( *)proxy_pass http://mvi;", rf"\g<0>\n\1proxy_bind {_PROXY};"),
    "haproxy": (r"^( *server mvi .*)$", rf"\1 source {_PROXY}"),
    "apache": (r"^( *)ProxyPreserveHost", rf"\1ProxySourceAddress {_PROXY}\n\g<0>"),
}
# What doctor cannot measure where there is no proxy.
_PLAIN = {"http/2": "not measured"}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("kinds", nargs="+", choices=("nginx", "haproxy", "apache"))
    options.add_argument("--server", required=True)
    options.add_argument("--folder", required=True, type=pathlib.Path)
    options.add_argument("--only", default="", help="set-ups whose name has this text")
    options.add_argument("--verbose", action="store_true")
    given = options.parse_args()
    given.folder.mkdir(mode=0o711, exist_ok=True)
    # The proxies' processes may have another user.
    given.folder.chmod(0o711)
    certificate, faults = make_certificate(given.folder), 0
    try:
        for setup in SETUPS:
            if setup.kind not in (None, *given.kinds) or given.only not in setup.name:
                continue
            found, text = _examine(setup, given, certificate)
            said = ", ".join(f"{check}: {verdict}" for check, verdict in found.items()) or "nothing wrong"
            print(f"{setup.kind or 'straight':9}{setup.name:52}{said}", flush=True)
            if given.verbose:
                print(text)
            if found != setup.expected:
                faults += 1
                print(f"FAULT: {setup.kind}, {setup.name}: expected {setup.expected or 'nothing'}\n{text}", flush=True)
    except Failure as reason:
        print(f"script/trial: {reason}", file=sys.stderr)
        sys.exit(2)
    sys.exit(1 if faults else 0)


def _examine(setup, given, certificate):
    """What doctor found but for what is right, by check; and what it measured there, as text."""
    started, port = [], free_port()
    public = f"https://127.0.0.1:{port}"
    flags = [flag.replace("PUBLIC", public) for flag in setup.flags]
    if not any(flag == "--public-url" for flag in flags) and setup.kind and setup.has_public_url:
        flags += ["--public-url", public]
    try:
        server = Server(given.server, given.folder, "--heartbeat", setup.heartbeat, "--trusted-proxy", _PROXY, *flags)
        started.append(server)
        url = f"http://127.0.0.1:{server.port}"
        if setup.kind:
            started.append(Proxy(setup.kind, server, given.folder, certificate, port=port,
                                 changes=(_SOURCES[setup.kind], *setup.changes)))
            url = public
            await_(f"{setup.kind} finds the server", lambda: is_served(port, certificate) or setup.hides_health)
        answer = subprocess.run(
            [given.server, "doctor", url, "--json", "--certificate", f"{certificate}.pem", *setup.options],
            capture_output=True, timeout=180, check=False)
        if answer.returncode == 2 and b"refuses the Host" in answer.stderr:
            return {"host": "refused"}, answer.stderr.decode()
        assert answer.returncode in (0, 1), f"doctor ended with {answer.returncode}: {answer.stderr.decode()}"
        report = json.loads(answer.stdout)
        assert (answer.returncode == 1) == (report["wrong"] > 0), "the exit code is not the report's"
        found = [each for each in report["findings"] if each["verdict"] != "ok"]
        text = "\n".join(f"    {each['verdict']}: {each['check']}: {each['measured']}"
                         for each in (report["findings"] if given.verbose else found))
        left = {} if setup.kind else _PLAIN
        return {each["check"]: each["verdict"] for each in found if left.get(each["check"]) != each["verdict"]}, text
    finally:
        for each in reversed(started):
            each.close()


if __name__ == "__main__":
    main()
