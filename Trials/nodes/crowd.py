"""Watchers of whom thousands fit into one program: of events they look at nothing but the sets of who is here."""

import asyncio
import random
import re
import time

from link import Link, request_bytes

_COUNT = re.compile(rb'"count":(\d+)')


class Watcher(asyncio.Protocol):
    """One session with one stream that is read as fast as it comes, and comes back after it was ended."""

    def __init__(self, port, feature):
        self.port, self.feature = port, feature
        self.token = self.transport = self.task = None
        # The count of the last set, and the times of all.
        self.count, self.times, self.bytes, self.rest = None, [], 0, b""

    async def begin(self):
        link = Link(self.port)
        self.token = (await link.ask("POST", "/sessions")).json()["token"]
        link.close()
        await self.open()

    async def open(self):
        self.rest = b""
        await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", self.port)

    def connection_made(self, transport):
        self.transport = transport
        transport.write(request_bytes(
            "GET", f"/events?feature={self.feature}", None, self.token, {"Accept": "text/event-stream"}))

    def connection_lost(self, exc):
        self.transport = None
        if self.token:
            self.task = asyncio.create_task(self._come_back())

    async def _come_back(self):
        await asyncio.sleep(0.5 + random.random() / 2)
        if self.token:
            await self.open()

    def data_received(self, data):
        self.bytes += len(data)
        *blocks, self.rest = (self.rest + data).split(b"\n\n")
        for block in blocks:
            if b"event: presence\n" in block:
                self.count = int(_COUNT.search(block)[1])
                self.times.append(time.monotonic())

    def eof_received(self):
        return False

    def close(self):
        self.token = None
        if self.transport:
            self.transport.abort()
