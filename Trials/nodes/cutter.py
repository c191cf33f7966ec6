"""A proxy for PostgreSQL's connections that cuts one off in the middle of what it sends, and tells neither end."""

import asyncio
import struct
import time

STARTUP = 3 << 16


class Cut:
    """A connection that was cut off while its transaction held the rows of these sessions."""

    def __init__(self, keys, port):
        # `port` is the one by which the database knows the connection.
        self.keys, self.port, self.time = keys, port, time.monotonic()


class _Sender:
    """The messages of one connection's client, one after the other."""

    def __init__(self):
        self.rest, self.has_started = b"", False

    def messages(self, data):
        self.rest += data
        while len(self.rest) >= 5:
            # What comes before the startup has no type.
            at = 1 if self.has_started else 0
            end = at + struct.unpack_from(">I", self.rest, at)[0]
            if end > len(self.rest):
                return
            message, self.rest = self.rest[:end], self.rest[end:]
            if not self.has_started:
                self.has_started = struct.unpack_from(">I", message, 4)[0] == STARTUP
                yield b"", message
            else:
                yield message[:1], message


def first_numbers(bind):
    """The first parameter of a Bind message, which is an array of 64-bit numbers in binary format."""
    at = bind.index(b"\0", 5) + 1
    at = bind.index(b"\0", at) + 1
    at += 2 + 2 * struct.unpack_from(">H", bind, at)[0]
    # Beyond the count of parameters and the length of this one: dimensions, NULLs, type; size and lower bound.
    _, _, dimensions, _, _, size, _ = struct.unpack_from(">HIIIIII", bind, at)
    if dimensions == 0:
        return []
    at += 26
    return [struct.unpack_from(">q", bind, at + 12 * place + 4)[0] for place in range(size)]


class Cutter:
    """Listens on `port`, and passes everything on until it is armed."""

    def __init__(self, target):
        self.target, self.port, self.server = target, None, None
        self.mark, self.armed = b"", None
        self.writers = set()

    async def start(self):
        self.server = await asyncio.start_server(self._take, "127.0.0.1", 0, limit=2 ** 20)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def cut(self, mark, seconds=30.0):
        """Cuts a connection off after the execution of the next statement that has `mark`."""
        self.mark, self.armed = mark, asyncio.get_running_loop().create_future()
        return await asyncio.wait_for(self.armed, seconds)

    async def _take(self, reader, writer):
        try:
            back_reader, back_writer = await asyncio.open_connection("127.0.0.1", self.target, limit=2 ** 20)
        except OSError:
            writer.close()
            return
        ends = {writer, back_writer}
        self.writers |= ends
        is_cut = asyncio.Event()
        try:
            await asyncio.gather(self._up(reader, back_writer, is_cut), self._down(back_reader, writer, is_cut))
        except OSError:
            pass
        finally:
            if not is_cut.is_set():
                self.writers -= ends
                for end in ends:
                    end.transport.abort()

    async def _up(self, reader, writer, is_cut):
        sender, keys = _Sender(), None
        while data := await reader.read(65536):
            passed = []
            for kind, message in sender.messages(data):
                if is_cut.is_set():
                    break
                passed.append(message)
                if kind == b"P":
                    keys = [] if self.armed and not self.armed.done() and self.mark in message else None
                elif keys is not None and kind == b"B":
                    keys = first_numbers(message)
                elif keys and kind == b"E" and not self.armed.done():
                    is_cut.set()
                    self.armed.set_result(Cut(keys, writer.get_extra_info("sockname")[1]))
            writer.write(b"".join(passed))
            await writer.drain()
        if not is_cut.is_set():
            raise OSError("closed")

    async def _down(self, reader, writer, is_cut):
        while data := await reader.read(65536):
            if not is_cut.is_set():
                writer.write(data)
                await writer.drain()
        if not is_cut.is_set():
            raise OSError("closed")

    def close(self):
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()
