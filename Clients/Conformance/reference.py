#!/usr/bin/env python3
"""The driver of the client in `mvi_client`: JSON lines in, JSON lines out, as README.md says.

    reference.py [--fault NAME]

With `--fault` the client gets a fault of `faults.py`, to prove that the kit finds it.
"""

import asyncio
import json
import sys


def load_client():
    if sys.argv[1:2] == ["--fault"]:
        import faults
        faults.plant(sys.argv[2])
    import mvi_client
    return mvi_client


mvi_client = load_client()


def say(saw, **members):
    print(json.dumps({"saw": saw, **members}), flush=True)


async def send(client, command):
    try:
        version = await client.send(command["feature"], command["intent"])
    except mvi_client.Refused as refusal:
        say("refused", tag=command["tag"], status=refusal.status, problem=refusal.problem)
    else:
        say("sent", tag=command["tag"], version=version)


def open_client(command):
    identities = iter(command["identities"])

    async def identity():
        return next(identities, None)

    client = mvi_client.Client(command["url"], say, command["credential"], command["delta"], identity,
                               command.get("patience", 300))
    for feature in command["features"]:
        client.watch(feature)
    return client


async def main():
    lines = asyncio.StreamReader(limit=16 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    client = None
    sends = set()
    while line := await lines.readline():
        command = json.loads(line)
        match command["do"]:
            case "open":
                client = open_client(command)
            case "watch" | "unwatch":
                getattr(client, command["do"])(command["feature"])
            case "offline" | "online" | "foreground":
                getattr(client, command["do"])()
            case "send":
                task = asyncio.create_task(send(client, command))
                sends.add(task)
                task.add_done_callback(sends.discard)
            case "close":
                break
    if client is not None:
        await client.close()


asyncio.run(main())
