#!/usr/bin/env python3
"""The driver of the client in `mvi_client`: JSON lines in, JSON lines out, as README.md says.

    reference.py [--fault NAME]

With `--fault` the client gets a fault of `faults.py`, which the kit must find.
"""

import asyncio
import json
import sys

import faults


async def drive(mvi_client, next_command, say):
    """Runs the client until `next_command` returns `close` or None. `say(saw, **members)` reports."""
    client = None
    sends = set()

    async def send(command):
        try:
            version = await client.send(command["feature"], command["intent"])
        except mvi_client.Refused as refusal:
            say("refused", tag=command["tag"], status=refusal.status, problem=refusal.problem)
        else:
            say("sent", tag=command["tag"], version=version)

    try:
        while command := await next_command():
            match command["do"]:
                case "open":
                    client = open_client(mvi_client, command, say)
                case "watch":
                    client.watch(command["feature"], command.get("labels", True))
                case "unwatch" | "read":
                    getattr(client, command["do"])(command["feature"])
                case "offline" | "online" | "foreground":
                    getattr(client, command["do"])()
                case "send":
                    task = asyncio.create_task(send(command))
                    sends.add(task)
                    task.add_done_callback(sends.discard)
                case "close":
                    break
    finally:
        for task in sends:
            task.cancel()
        if client is not None:
            await client.close()


def open_client(mvi_client, command, say):
    identities = iter(command["identities"])

    async def identity():
        return next(identities, None)

    client = mvi_client.Client(command["url"], say, command["credential"], command["delta"], identity,
                               command.get("patience", 300), command.get("folder"), command.get("locale"),
                               command.get("timeZone"))
    for feature in command["features"]:
        client.watch(feature)
    return client


async def main():
    lines = asyncio.StreamReader(limit=16 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)

    async def next_command():
        line = await lines.readline()
        return json.loads(line) if line else None

    def say(saw, **members):
        print(json.dumps({"saw": saw, **members}), flush=True)

    fault = sys.argv[2] if sys.argv[1:2] == ["--fault"] else None
    await drive(faults.load_client(fault), next_command, say)


if __name__ == "__main__":
    asyncio.run(main())
