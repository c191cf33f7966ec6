"""A network that can be cut, between a browser and the server."""

import itertools
import select
import socket
import threading

# An address of its own for each relay gives each check an origin of its own: cookies, storage and locks start empty.
_hosts = itertools.count(2)


def new_host():
    """A loopback address that no origin had before."""
    return f"127.0.0.{next(_hosts)}"


class Relay:
    """Passes TCP connections on to the server, from an address and a port of its own.

    A thread for each connection.
    """

    def __init__(self, server, host=None):
        self.server = server
        self.host = host or new_host()
        self.port = 0
        self._listener = None
        self._pairs = set()
        self._lock = threading.Lock()
        self.mend()

    @property
    def url(self):
        return f"http://{self.host}:{self.port}/"

    def mend(self):
        """Listens, on the same port as before."""
        listener = socket.create_server((self.host, self.port), backlog=128)
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self):
        """No connection any more, and no new one."""
        listener, self._listener = self._listener, None
        if listener:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.drop()

    def drop(self):
        """Ends all connections. New ones may come."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            pair.flowing.set()
            for end in pair:
                _shut(end)

    def freeze_streams(self):
        """The streams' connections stay open and carry nothing, as where a phone left its network. Others flow."""
        with self._lock:
            for pair in self._pairs:
                if pair.is_stream:
                    pair.flowing.clear()

    def close(self):
        self.cut()

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.server.port), timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair = _Pair(client, server)
            with self._lock:
                self._pairs.add(pair)
            threading.Thread(target=self._pass, args=(pair,), daemon=True).start()

    def _pass(self, pair):
        other = {pair.client: pair.server, pair.server: pair.client}
        try:
            while True:
                for end in select.select(list(other), [], [])[0]:
                    pair.flowing.wait()
                    read = end.recv(65536)
                    if not read:
                        return
                    pair.is_stream = pair.is_stream or (end is pair.server and _begins_stream(read))
                    other[end].sendall(read)
        except (OSError, ValueError):
            pass
        finally:
            with self._lock:
                self._pairs.discard(pair)
            for end in pair:
                _shut(end)
                end.close()


def _begins_stream(read):
    """Whether an answer with events begins here. The client's source, which flows too, has the type in its text."""
    head = read.split(b"\r\n\r\n", 1)[0].lower()
    return head.startswith(b"http/1.1 200") and b"\ncontent-type: text/event-stream" in head


class _Pair:
    """The two sockets of a connection."""

    def __init__(self, client, server):
        self.client, self.server = client, server
        self.is_stream = False
        self.flowing = threading.Event()
        self.flowing.set()

    def __iter__(self):
        return iter((self.client, self.server))


def _shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
