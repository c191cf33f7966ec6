#!/usr/bin/env python3
"""Follows the tutorial "From nothing to the shop" as its reader does: writes each step's file into a package of
script/new, types each step's commands, and compares what they print with what is shown. What Docker does is left out.

    tutorial.py ROOT FOLDER PORT

Exit code: 0 all was as shown, 1 something was not, with a line that begins with FAULT.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

root, work, port = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
tutorials = root / "Sources/MVIServer/MVIServer.docc/Tutorials"
package = work / "little-shop"
faults = 0


def fault(text):
    global faults
    faults += 1
    print(f"FAULT: {text}", flush=True)


def plain(line):
    """A line without what differs from run to run."""
    line = re.sub(r"[a-z2-7]{13}", "ID", line)
    line = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", line)
    return re.sub(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", "TIME", line)


class Shell:
    """One shell for all commands, so that its variables stay."""

    def __init__(self):
        environment = dict(os.environ, MVI_PORT=port, MVI_LOG_LEVEL="warning")
        self.process = subprocess.Popen(
            ["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=work, env=environment
        )

    def type(self, command):
        self.process.stdin.write(f"{command}\necho; echo \"== $?\"\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if match := re.fullmatch(r"== ([0-9]+)\n", line):
                while lines and not lines[-1]:
                    lines.pop()
                return lines, int(match[1])
            lines.append(line.rstrip("\n"))
        raise SystemExit("FAULT: the shell has ended")


class Server:
    """The reader's server: built and started anew when its files have changed."""

    def __init__(self, shell):
        self.shell, self.arguments, self.is_old, self.runs = shell, "", True, False

    def start(self):
        self.stop()
        swift("build")
        self.shell.type(f"cd {package}; .build/debug/little-shop {self.arguments} >{work}/server.log 2>&1 & server=$!")
        end = time.monotonic() + 30
        while subprocess.run(
            [package / ".build/debug/little-shop", "health", "--port", port], capture_output=True, check=False
        ).returncode:
            if time.monotonic() > end:
                fault("the server did not start:\n" + (work / "server.log").read_text())
                return
            time.sleep(0.05)
        self.is_old, self.runs = False, True

    def stop(self):
        if self.runs:
            self.shell.type("kill $server; wait $server")
        self.runs = False


def swift(command):
    result = subprocess.run(
        ["swift", command, "--package-path", package], capture_output=True, text=True, check=False
    )
    if result.returncode:
        fault(f"swift {command}:\n" + result.stdout[-4000:] + result.stderr[-2000:])


def path(name):
    """Where a step's file belongs in the package."""
    if name == "Package.swift":
        return package / name
    if name.endswith("Tests.swift"):
        return package / "Tests/LittleShopTests" / name
    return package / ("Sources/LittleShop" if name.endswith(".swift") else "Sources/LittleShop/Page") / name


def commands(text):
    """Each command with the lines that are shown below it."""
    result = []
    for line in text.splitlines():
        if line.startswith("$ "):
            result.append([line[2:], []])
        elif result and result[-1][0].count("'") % 2:
            result[-1][0] += "\n" + line
        elif result:
            result[-1][1].append(line)
    return result


def follow(step, text, shell, server):
    for command, shown in commands(text):
        if command.startswith(("docker", "git clone")):
            continue
        if match := re.fullmatch(r"swift run little-shop ?(.*)", command):
            server.arguments = match[1]
            server.start()
            continue
        if command == "swift test":
            swift("test")
            continue
        if command.startswith("mvi-server/script/new"):
            command = str(root / command.removeprefix("mvi-server/"))
        elif command.startswith("curl") and server.is_old:
            server.start()
        given, code = shell.type(command.replace("localhost:8080", f"127.0.0.1:{port}"))
        if code:
            fault(f"{step}: {command}: exit code {code}")
        if shown and [plain(line) for line in given] != [plain(line) for line in shown]:
            fault(f"{step}: {command}\n  shown: {shown}\n  given: {given}")
        if given and given[0].startswith('{"type":"/problems/'):
            fault(f"{step}: {command}: {given[0]}")


def main():
    shell = Shell()
    server = Server(shell)
    contents = (tutorials / "FromNothingToTheShop.tutorial").read_text()
    for name in re.findall(r'@TutorialReference\(tutorial: "doc:([^"]+)"\)', contents):
        start = time.monotonic()
        for file, resource in re.findall(
            r'@Code\(name: "([^"]+)", file: "([^"]+)"\)', (tutorials / f"{name}.tutorial").read_text()
        ):
            text = (tutorials / "Resources" / resource).read_text()
            if file == "Terminal":
                follow(resource, text, shell, server)
            else:
                if file == "Package.swift":
                    # The reader's clone is beside the package.
                    text = re.sub(r'path: "[^"]*"', f"path: {json.dumps(str(root))}", text)
                path(file).write_text(text)
                server.is_old = True
                if file.endswith("Tests.swift"):
                    swift("test")
        print(f"{name:<26}{time.monotonic() - start:6.0f} s", flush=True)
    server.stop()
    shell.process.stdin.close()
    shell.process.wait()


signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
main()
sys.exit(1 if faults else 0)
