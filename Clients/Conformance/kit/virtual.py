"""An event loop with a clock of its own and connections in memory.

The clock stands still while something can run and then jumps to the next timer. A scenario of many seconds takes
milliseconds, and its result does not depend on the machine.
"""

import asyncio
from collections import deque
from unittest import mock

# How long bytes are on their way, in seconds. Without it, a client that repeats requests would stop the clock.
LATENCY = 0.001

# How often the loop runs without an advance of the clock before it counts as hung.
MOST_TURNS = 1_000_000


class VirtualLoop(asyncio.BaseEventLoop):
    """Replaces sockets: `create_server` and `create_connection` know only each other. There are no threads, no processes."""

    def __init__(self):
        super().__init__()
        # BaseEventLoop asks its selector for events, with the time until the next timer.
        self._selector = self
        self.present = 0.0
        self.turns = 0
        self.listeners = {}

    def time(self):
        return self.present

    def select(self, timeout):
        """Advances the clock to the next timer."""
        if timeout is None:
            raise RuntimeError("the scenario hangs: nothing is scheduled")
        self.turns = self.turns + 1 if timeout == 0 else 0
        if self.turns > MOST_TURNS:
            raise RuntimeError("the client runs in a loop without waiting")
        self.present += timeout
        return []

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass

    async def create_server(self, protocol_factory, host=None, port=None, *, sock, **options):
        listener = Listener(self, sock, protocol_factory)
        self.listeners[listener.port] = listener
        return listener

    async def create_connection(self, protocol_factory, host=None, port=None, **options):
        await asyncio.sleep(LATENCY)
        listener = self.listeners.get(port)
        if listener is None:
            raise ConnectionRefusedError
        client, server = Transport(self, protocol_factory()), Transport(self, listener.protocol_factory())
        client.peer, server.peer = server, client
        self.call_soon(server.protocol.connection_made, server)
        client.protocol.connection_made(client)
        return client, client.protocol


class Listener:
    """A listening server. Its socket only reserves the port."""

    def __init__(self, loop, reserved, protocol_factory):
        self.loop, self.reserved, self.protocol_factory = loop, reserved, protocol_factory
        self.port = reserved.getsockname()[1]

    def close(self):
        self.loop.listeners.pop(self.port, None)
        self.reserved.close()


END, RESET = object(), object()


class Transport(asyncio.Transport):
    """One end of a connection in memory."""

    def __init__(self, loop, protocol):
        super().__init__()
        self.loop, self.protocol = loop, protocol
        self.peer = None
        self.inbox = deque()
        self.is_closed = False
        self.is_lost = False

    def write(self, data):
        if not self.is_closed:
            self.send(bytes(data))

    def send(self, item):
        # Timers of the same time have no order, so a timer takes the oldest item, not a certain one.
        self.peer.inbox.append(item)
        self.loop.call_later(LATENCY, self.peer.receive)

    def receive(self):
        item = self.inbox.popleft()
        if self.is_lost:
            return
        if item is RESET:
            self.lose(ConnectionResetError())
        elif item is not END:
            self.protocol.data_received(item)
        elif not self.protocol.eof_received():
            self.close()

    def is_closing(self):
        return self.is_closed

    def close(self):
        self.end(END)

    def abort(self):
        self.end(RESET)

    def end(self, item):
        if not self.is_closed:
            self.is_closed = True
            self.send(item)
            self.loop.call_soon(self.lose, None)

    def lose(self, error):
        if not self.is_lost:
            self.is_closed = self.is_lost = True
            self.protocol.connection_lost(error)


def run_virtual(make):
    """Runs the coroutine that `make` returns on a loop of its own, and cancels what it leaves behind."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        # A date in Retry-After is compared with the time of day.
        with mock.patch("time.time", lambda: 1_700_000_000 + loop.time()):
            return runner.run(make())
