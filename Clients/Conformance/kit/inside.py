"""The driver of the client in Python without a process of its own, for the virtual clock."""

import asyncio
import json

import reference


class InsideDriver:
    """Has the interface of `Driver`. `client` is the module `mvi_client`, with or without a fault."""

    is_virtual = True

    def __init__(self, client):
        self.client = client
        self.lines = []
        self.broken = []
        self.errors = b""
        self.news = asyncio.Event()
        self.commands = asyncio.Queue()
        self.work = None

    @property
    def status(self):
        """The exit status of the driver; None while it runs."""
        if self.work is None or not self.work.done():
            return None
        return 1 if self.work.cancelled() or self.work.exception() else 0

    async def start(self):
        self.work = asyncio.create_task(reference.drive(self.client, self.commands.get, self.say))

    def say(self, saw, **members):
        # As JSON, like the lines of a process.
        line = json.loads(json.dumps({"saw": saw, **members}))
        line["at"] = asyncio.get_running_loop().time()
        self.lines.append(line)
        self.news.set()

    def tell(self, command):
        """Sends one command."""
        self.commands.put_nowait(command)

    async def leave(self, seconds):
        """Says `close` and returns the exit status; None if the driver does not end."""
        self.tell({"do": "close"})
        await asyncio.wait([self.work], timeout=seconds)
        return self.status

    async def kill(self):
        """Ends the driver as a system ends an app."""
        self.work.cancel()
        await asyncio.wait([self.work])
        self.commands = asyncio.Queue()

    async def stop(self):
        """Ends the driver if it still runs."""
        if self.work is not None:
            self.work.cancel()
