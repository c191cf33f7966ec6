"""A client of the repository, behind its driver for the conformance kit (Clients/Conformance/README.md)."""

import asyncio
import json

from figures import Failure


class Driver:
    def __init__(self, name, command):
        self.name, self.command, self.process = name, command, None
        self.seen, self.news = [], asyncio.Event()

    async def open(self, url, features, folder):
        """Starts the client, which keeps its session and its waiting intents in `folder`."""
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        self.reader = asyncio.create_task(self._read())
        await self.do("open", url=url, features=features, credential="bearer", delta="json-patch", identities=[],
                      folder=str(folder), locale="de-DE", timeZone="Europe/Berlin")
        return self

    async def do(self, what, **members):
        self.process.stdin.write(json.dumps({"do": what, **members}).encode() + b"\n")
        await self.process.stdin.drain()

    async def send(self, feature, intent, tag):
        await self.do("send", feature=feature, intent=intent, tag=tag)

    async def sees(self, saw, seconds=60, **members):
        """Waits until it has reported something with these members; a function judges its member."""
        def fits(line):
            return line.get("saw") == saw and all(
                value(line.get(name)) if callable(value) else line.get(name) == value for name, value in members.items())
        try:
            async with asyncio.timeout(seconds):
                while not any(map(fits, self.seen)):
                    self.news.clear()
                    await self.news.wait()
        except TimeoutError:
            raise Failure(f"{self.name} did not report {saw} in {seconds} s; its last lines: {self.seen[-5:]}") from None

    def forget(self):
        """What it has reported so far does not count any more."""
        self.seen.clear()

    async def close(self):
        """Its exit code."""
        await self.do("close")
        self.process.stdin.close()
        async with asyncio.timeout(60):
            return await self.process.wait()

    def kill(self):
        if self.process and self.process.returncode is None:
            self.process.kill()

    async def _read(self):
        async for line in self.process.stdout:
            self.seen.append(json.loads(line))
            self.news.set()
