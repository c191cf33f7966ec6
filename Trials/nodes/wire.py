"""A proxy for PostgreSQL's connections: it delays answers, drops notifications, or cuts connections off."""

import asyncio
import struct


class Wire:
    """Listens on `port`. What it does may be changed while connections are open."""

    def __init__(self, target):
        self.target, self.port, self.server = target, None, None
        # How much later each answer comes, in seconds.
        self.delay = 0.0
        # Whether notifications are taken out, and how many were.
        self.drops, self.dropped = False, 0
        # Whether bytes stand still, in both directions, as behind a cable that was pulled.
        self.is_cut = False
        self.links = set()

    async def start(self):
        self.server = await asyncio.start_server(self._take, "127.0.0.1", 0, limit=2 ** 20)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def _take(self, reader, writer):
        try:
            back_reader, back_writer = await asyncio.open_connection("127.0.0.1", self.target, limit=2 ** 20)
        except OSError:
            writer.close()
            return
        link = (writer, back_writer)
        self.links.add(link)
        try:
            await asyncio.gather(self._to_server(reader, back_writer), self._to_client(back_reader, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.links.discard(link)
            writer.transport.abort()
            back_writer.transport.abort()

    async def _standing(self):
        while self.is_cut:
            await asyncio.sleep(0.05)

    async def _to_server(self, reader, writer):
        while data := await reader.read(65536):
            await self._standing()
            writer.write(data)
            await writer.drain()
        raise OSError("closed")

    async def _to_client(self, reader, writer):
        loop = asyncio.get_running_loop()
        is_first, rest = True, b""
        while data := await reader.read(65536):
            await self._standing()
            if is_first and data[:1] in b"SN" and len(data) == 1:
                # The answer to a request for TLS is a byte alone.
                writer.write(data)
                continue
            is_first = False
            whole, rest = self._messages(rest + data)
            if not whole:
                continue
            if self.delay:
                loop.call_later(self.delay, writer.write, whole)
            else:
                writer.write(whole)
                await writer.drain()
        raise OSError("closed")

    def _messages(self, data):
        """Whole messages that are passed on, and the rest."""
        at, parts = 0, []
        while at + 5 <= len(data):
            end = at + 1 + struct.unpack_from(">I", data, at + 1)[0]
            if end > len(data):
                break
            if self.drops and data[at:at + 1] == b"A":
                self.dropped += 1
            else:
                parts.append(data[at:end])
            at = end
        return b"".join(parts), data[at:]

    def end_connections(self):
        for link in list(self.links):
            for writer in link:
                writer.transport.abort()

    def close(self):
        self.server.close()
        self.end_connections()
