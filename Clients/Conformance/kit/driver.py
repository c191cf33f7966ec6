"""The process of a client's driver: JSON lines in, JSON lines out."""

import asyncio
import json


class Driver:
    """One run of the driver's program. `lines` are what it said, each with the time it arrived as `at`.

    `idle` are programs that said `closed`, for further runs; None for a program for each run.
    """

    is_virtual = False

    def __init__(self, command, idle=None):
        self.command = command
        self.idle = idle
        self.closed = asyncio.Event()
        self.lines = []
        self.broken = []
        self.errors = b""
        self.news = asyncio.Event()
        self.process = None
        self.readers = []

    @property
    def status(self):
        """The exit status of the program; None while it runs."""
        return self.process.returncode if self.process is not None else None

    async def start(self):
        # A state may have some megabytes, and is one line.
        while self.idle and self.process is None:
            process = self.idle.pop()
            self.process = process if process.returncode is None else None
        self.process = self.process or await asyncio.create_subprocess_exec(
            *self.command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            limit=64 << 20)
        self.readers = [asyncio.create_task(self.read_lines()), asyncio.create_task(self.read_errors())]

    async def read_lines(self):
        while line := await self.process.stdout.readline():
            try:
                said = json.loads(line)
                said["saw"]
            except (ValueError, TypeError, KeyError):
                self.broken.append(line.decode(errors="replace").strip()[:200])
            else:
                if self.idle is not None and said["saw"] == "closed":
                    self.closed.set()
                    return
                said["at"] = asyncio.get_running_loop().time()
                self.lines.append(said)
            self.news.set()
        self.closed.set()
        self.news.set()

    async def read_errors(self):
        while data := await self.process.stderr.read(65536):
            self.errors = (self.errors + data)[-8192:]

    def tell(self, command):
        """Sends one command."""
        if self.process.returncode is None:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")

    async def leave(self, seconds):
        """Says `close`, ends the input and returns the exit status; None when the program does not end.

        A program for several runs goes on: 0 once it said `closed`.
        """
        try:
            self.tell({"do": "close"})
            if self.idle is not None:
                await asyncio.wait_for(self.closed.wait(), seconds)
                if self.process.stdout.at_eof():
                    return await asyncio.wait_for(self.process.wait(), seconds)
                self.readers[1].cancel()
                self.idle.append(self.process)
                self.process = None
                return 0
            self.process.stdin.close()
            return await asyncio.wait_for(self.process.wait(), seconds)
        except (asyncio.TimeoutError, ConnectionError):
            return None

    async def kill(self):
        """Ends the process as a system ends an app, without a warning."""
        self.process.kill()
        await self.process.wait()
        await asyncio.wait(self.readers)
        self.process = None
        self.closed.clear()

    async def stop(self):
        """Ends the process if it is still there."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        for reader in self.readers:
            reader.cancel()
