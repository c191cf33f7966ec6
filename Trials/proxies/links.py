"""HTTP/1.1 and HTTP/2 connections that one thread reads, so that nothing but the way is in a measured time."""

import collections
import json
import select
import socket
import ssl
import time
import uuid

import h11
import h2.config
import h2.connection
import h2.events


class Answer:
    """An answer that is arriving. `events` has the events of a stream that arrived and were not asked for yet."""

    def __init__(self):
        self.status, self.fields, self.has_ended = None, {}, False
        self.body, self.events = b"", collections.deque()

    def add(self, data):
        self.body += data
        if "event-stream" in self.fields.get("content-type", ""):
            *blocks, self.body = self.body.split(b"\n\n")
            self.events.extend(_event(block) for block in blocks)

    def json(self):
        return json.loads(self.body)


def _event(block):
    event = {"name": None, "id": None, "data": None}
    for line in block.decode().split("\n"):
        field, _, value = line.partition(": ")
        if field == "event":
            event["name"] = value
        elif field == "id":
            event["id"] = value
        elif field == "data":
            event["data"] = json.loads(value)
    return event


def _connect(port, certificate, protocol, source="127.0.0.1"):
    plain = socket.create_connection(("127.0.0.1", port), 10, (source, 0))
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if certificate is None:
        return plain
    context = ssl.create_default_context(cafile=f"{certificate}.pem")
    context.set_alpn_protocols([protocol])
    secure = context.wrap_socket(plain, server_hostname="127.0.0.1")
    assert secure.selected_alpn_protocol() == protocol, f"the proxy does not speak {protocol}"
    return secure


def is_served(port, certificate):
    """Whether a proxy passes a request on to the server."""
    link = Http1(port, certificate)
    answer = link.send("GET", "/health/live", {})
    while not answer.has_ended:
        select.select([link.socket], [], [], 10)
        link.read()
    link.close()
    return answer.status == 200


def _receive(connection):
    """What has arrived: no bytes at the end, however it came, and None if it was TLS's own talk."""
    connection.settimeout(0)
    try:
        return connection.recv(65536)
    except (ssl.SSLWantReadError, BlockingIOError):
        return None
    except (ConnectionError, ssl.SSLError):
        return b""
    finally:
        connection.settimeout(10)


class Http1:
    """One connection with one request at a time."""

    def __init__(self, port, certificate=None, source="127.0.0.1"):
        self.port, self.certificate, self.source, self.answer = port, certificate, source, None
        self._connect()

    def _connect(self):
        self.socket = _connect(self.port, self.certificate, "http/1.1", self.source)
        self.state = h11.Connection(our_role=h11.CLIENT)

    def send(self, method, path, fields, body=b""):
        if self.state.our_state is h11.DONE:
            self.state.start_next_cycle()
        elif self.state.our_state is not h11.IDLE:
            # The other side wished to close: proxies do after some number of requests.
            self.socket.close()
            self._connect()
        self.answer = Answer()
        fields = {"Host": "mvi.example.com", **fields}
        if body:
            fields["Content-Length"] = str(len(body))
        data = self.state.send(h11.Request(method=method, target=path, headers=list(fields.items())))
        data += self.state.send(h11.Data(data=body)) if body else b""
        self.socket.sendall(data + self.state.send(h11.EndOfMessage()))
        return self.answer

    def read(self):
        data = _receive(self.socket)
        if data is None:
            return
        self.state.receive_data(data)
        while True:
            try:
                event = self.state.next_event()
            except h11.RemoteProtocolError:
                # Cut in the middle.
                event = h11.ConnectionClosed()
            if isinstance(event, h11.Response):
                self.answer.status = event.status_code
                self.answer.fields = {name.decode(): value.decode() for name, value in event.headers}
            elif isinstance(event, h11.Data):
                self.answer.add(bytes(event.data))
            elif isinstance(event, (h11.EndOfMessage, h11.ConnectionClosed)):
                self.answer.has_ended = True
                return
            else:
                return

    def close(self):
        self.socket.close()


class Http2:
    """One connection with any number of requests."""

    def __init__(self, port, certificate, source="127.0.0.1"):
        self.socket = _connect(port, certificate, "h2", source)
        self.state = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self.state.initiate_connection()
        self.answers = {}
        self._write()

    def send(self, method, path, fields, body=b""):
        number = self.state.get_next_available_stream_id()
        answer = self.answers[number] = Answer()
        answer.number = number
        self.state.send_headers(number, [
            (":method", method), (":scheme", "https"), (":authority", "mvi.example.com"), (":path", path),
            *((name.lower(), value) for name, value in fields.items()),
        ], end_stream=not body)
        if body:
            self.state.send_data(number, body, end_stream=True)
        self._write()
        return answer

    def read(self):
        data = _receive(self.socket)
        if data is None:
            return
        if not data:
            for answer in self.answers.values():
                answer.has_ended = True
            return
        for event in self.state.receive_data(data):
            answer = self.answers.get(getattr(event, "stream_id", None))
            if isinstance(event, h2.events.ResponseReceived):
                answer.fields = dict(event.headers)
                answer.status = int(answer.fields[":status"])
            elif isinstance(event, h2.events.DataReceived):
                answer.add(event.data)
                self.state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset)):
                answer.has_ended = True
            elif isinstance(event, h2.events.ConnectionTerminated):
                for each in self.answers.values():
                    each.has_ended = True
        self._write()

    def cancel(self, answer):
        """Ends one request and keeps the connection, as a browser does when a tab is closed."""
        self.state.reset_stream(answer.number, error_code=8)
        self._write()

    def close(self):
        self.socket.close()

    def _write(self):
        self.socket.sendall(self.state.data_to_send())


class Way:
    """A client's way to the server: a session, requests and a stream, straight or through a proxy.

    `source` is the client's address.
    """

    def __init__(self, name, port, certificate=None, protocol="1.1", token=None, source="127.0.0.1"):
        self.source = source
        self.name, self.port, self.certificate, self.protocol = name, port, certificate, protocol
        self.requests = self._link()
        self.streams = self.requests if protocol == "2" else None
        # The stream's answer, and the last id that came with an event asked for.
        self.stream, self.last_id = None, None
        self.token = token or self._new_session()

    def _link(self):
        return (Http2 if self.protocol == "2" else Http1)(self.port, self.certificate, self.source)

    def _new_session(self):
        answer = self.ask("POST", "/sessions")
        assert answer.status == 201, f"{self.name}: a new session got {answer.status}: {answer.body}"
        return answer.json()["token"]

    def send(self, method, path, body=None, **fields):
        fields = {name.replace("_", "-"): value for name, value in fields.items()}
        if getattr(self, "token", None):
            fields["Authorization"] = f"Bearer {self.token}"
        data = b""
        if body is not None:
            fields["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        return fields, data

    def ask(self, method, path, body=None, **fields):
        """Sends a request and waits for its whole answer."""
        answer = self.begin(method, path, body, **fields)
        self.wait("an answer", lambda: answer.has_ended)
        return answer

    def begin(self, method, path, body=None, **fields):
        fields, data = self.send(method, path, body, **fields)
        return self.requests.send(method, path, fields, data)

    def open(self, **fields):
        """Opens the stream of the counter and waits for its hello, which it returns."""
        if self.protocol != "2":
            self.streams = self._link()
        fields, _ = self.send("GET", "/features/counter/events", Accept="text/event-stream", **fields)
        self.stream = self.streams.send("GET", "/features/counter/events", fields)
        return self.event("hello")["data"]

    def event(self, name, seconds=10, **data):
        """Waits for the next event with this name and these members; events before it are left behind."""
        def arrived():
            while self.stream.events:
                event = self.stream.events.popleft()
                self.last_id = event["id"] or self.last_id
                if event["name"] == name and all(event["data"].get(key) == data[key] for key in data):
                    return event
            assert not self.stream.has_ended, f"{self.name}: the stream ended before the event {name!r}"
            return None
        return self.wait(f"the event {name!r}", arrived, seconds)

    def add(self, amount, key=None):
        """Sends an intent whose events bear the key."""
        return self.begin("POST", "/features/counter/intents", {"type": "add", "amount": amount},
                          Idempotency_Key=f'"{key or uuid.uuid4()}"')

    def wait(self, what, probe, seconds=10):
        """Reads from both connections until `probe` returns something true."""
        end = time.monotonic() + seconds
        while not (found := probe()):
            left = end - time.monotonic()
            assert left > 0, f"{self.name}: {what} did not come within {seconds} s"
            self.read(left)
        return found

    def read(self, seconds):
        links = {link.socket: link for link in (self.requests, self.streams) if link}
        # What TLS has decrypted already, the system does not report.
        ready = [each for each in links if getattr(each, "pending", lambda: 0)()]
        for each in ready or select.select(list(links), [], [], seconds)[0]:
            links[each].read()

    def close(self):
        for link in {self.requests, self.streams} - {None}:
            link.close()
