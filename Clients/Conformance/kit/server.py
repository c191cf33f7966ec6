"""The scripted server of one scenario: it answers what the scenario does not answer itself."""

import asyncio
import secrets
import socket

from .requests import Connection


def bound(port):
    """A socket on a port of 127.0.0.1 that does not listen."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    return made


class Server:
    """Listens on a port of the system's choice on 127.0.0.1 and queues requests by their kind."""

    def __init__(self):
        self.requests = []
        self.sessions = []
        self.connection_times = []
        self.queues = {}
        # Kinds of requests that the server answers by itself.
        self.automatic = {"session": self.make_session, "status": self.tell_status,
                          "settings": lambda request: request.respond(204), "delete": self.end_session,
                          "probe": self.probe, "other": self.refuse_path}
        # The features that are refused, and how.
        self.refused_features = {}
        self.port = 0
        # Bound and not listening: connections are refused, and nobody else gets the port, while the listener is away.
        self.held = None
        self.listener = None
        self.connections = set()
        self.tasks = set()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    async def listen(self):
        """Starts to listen; after `refuse` on the same port again."""
        if self.held is None:
            self.held = bound(0)
            self.port = self.held.getsockname()[1]
        self.listener = await asyncio.start_server(self.accept, sock=bound(self.port), limit=4 << 20)

    def refuse(self):
        """Stops to listen: the system refuses connections. Those that are there stay."""
        self.listener.close()

    async def accept(self, reader, writer):
        self.connection_times.append(asyncio.get_running_loop().time())
        connection = Connection(self, reader, writer)
        self.connections.add(connection)
        task = asyncio.current_task()
        self.tasks.add(task)
        try:
            await connection.serve()
        except asyncio.CancelledError:
            # The scenario is over. asyncio would report a cancelled handler as an error.
            pass
        finally:
            self.connections.discard(connection)
            self.tasks.discard(task)

    def stop(self):
        """Ends everything at once."""
        self.listener.close()
        self.held.close()
        for connection in list(self.connections):
            connection.writer.transport.abort()
        for task in list(self.tasks):
            task.cancel()

    def take(self, request):
        """Answers a request, or queues it for the scenario."""
        self.requests.append(request)
        if answer := self.automatic.get(request.kind):
            answer(request)
        else:
            self.queue(request.kind).put_nowait(request)

    def queue(self, kind):
        return self.queues.setdefault(kind, asyncio.Queue())

    def received(self, kind, since=0.0):
        """The requests of a kind so far."""
        return [request for request in self.requests if request.kind == kind and request.time >= since]

    def make_session(self, request, identity=None):
        """201 with a new credential, as the request asks, and who is signed in."""
        body = request.json() if request.body else {}
        credential = body.get("credential", "bearer") if isinstance(body, dict) else "bearer"
        name = f"s{len(self.sessions) + 1}"
        token = f"{name}~{secrets.token_hex(16)}"
        self.sessions.append(token)
        answer = {"id": name, "expiresAt": "2099-01-01T00:00:00Z"}
        if identity is not None:
            answer["identity"] = identity
        headers = [("Location", "/sessions/current")]
        if credential == "cookie":
            headers.append(("Set-Cookie", f"mvi_session={token}; Max-Age=86400; Path=/; HttpOnly; SameSite=Lax"))
        else:
            answer["token"] = token
        request.respond(201, answer, headers)

    def session_of(self, request):
        """The id of the session that the request's credential names; None where it names none."""
        for name, token in enumerate(self.sessions, 1):
            if request.credential == token:
                return f"s{name}"
        return None

    def tell_status(self, request):
        name = self.session_of(request)
        if name is None:
            request.problem(404, "session-not-found")
        else:
            request.respond(200, {"id": name, "expiresAt": "2099-01-01T00:00:00Z", "stores": [], "streams": 0})

    def probe(self, request):
        """HEAD of a stream: what GET would answer, without a stream."""
        for feature in request.features:
            if feature in self.refused_features:
                return request.problem(*self.refused_features[feature])
        request.respond(200)

    def end_session(self, request):
        request.respond(204)

    def refuse_path(self, request):
        request.problem(404, "not-found")
