"""The server's side of one event stream: helpers for good events, and exact bytes for bad ones."""

import asyncio
import json

MEDIA = "text/event-stream; charset=utf-8"

# So long, in seconds, that no stream is reopened because of silence: neither a stream of a slow scenario, nor one that the
# client should have closed.
HEARTBEAT = 600


class Stream:
    """One `GET /events`, and what the scenario writes to it."""

    def __init__(self, request):
        self.request = request
        self.server = request.server
        self.chunked = True
        self.ended_at = None

    @property
    def time(self):
        """When the request came, in seconds of the event loop's clock."""
        return self.request.time

    def head(self, media=MEDIA, chunked=True, headers=()):
        """The head of an accepted stream."""
        self.chunked = chunked
        fields = [("Content-Type", media), ("Cache-Control", "no-store, no-transform"), ("Connection", "close")]
        if chunked:
            fields.append(("Transfer-Encoding", "chunked"))
        self.request.head(200, [*fields, *headers])

    def raw(self, data):
        """Writes bytes below the framing."""
        self.request.raw(data)

    def frame(self, data):
        """The bytes of one chunk, or the bytes themselves on an unframed stream."""
        return b"%x\r\n%b\r\n" % (len(data), data) if self.chunked else data

    def send(self, data):
        """Writes text or bytes as one chunk in one write."""
        data = data.encode() if isinstance(data, str) else data
        if data:
            self.raw(self.frame(data))

    async def drip(self, *pieces, framed=True, pause=0.003):
        """Writes pieces one after the other, so that they arrive apart."""
        for piece in pieces:
            if piece:
                self.send(piece) if framed else self.raw(piece)
                await asyncio.sleep(pause)

    def accept(self, retry=50, cursor="e1.1", epoch="e1", session=None, resumed=None, heartbeat=HEARTBEAT, features=None,
               shared=None, **head):
        """The head, `retry` and `hello`."""
        self.head(**head)
        self.send(": ok\n")
        if retry is not None:
            self.send(f"retry: {retry}\n\n")
        self.hello(cursor, epoch, session, resumed, heartbeat, features, shared)

    def hello(self, cursor="e1.1", epoch="e1", session=None, resumed=None, heartbeat=HEARTBEAT, features=None, shared=None):
        """`hello` alone. `shared` are the features of spaces."""
        self.event("hello", {
            "session": session or self.server.session_of(self.request) or "s0", "epoch": epoch,
            "resumed": self.request.last_event_id is not None if resumed is None else resumed, "cursor": cursor,
            "heartbeat": heartbeat, "features": self.request.features if features is None else features,
            **({} if shared is None else {"shared": shared}),
        }, id=cursor)

    def event(self, name, data, id=None):
        """One event whose data is JSON or text. An id of several logs stands behind the data, as the server writes it."""
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        field = f"id: {id}\n" if id is not None else ""
        body = f"event: {name}\ndata: {text}\n"
        self.send((body + field if "~" in field else field + body) + "\n")

    def state(self, version, state=None, feature="counter", id=None, **members):
        """One whole state."""
        self.event("state", {"feature": feature, "version": version,
                             "state": {"count": version} if state is None else state, **members}, id)

    def label(self, label_id, cursor=None, feature="counter", version=1, replay=False, label=None, expires_in=300):
        """One label, with the cursor of its batch as `id` if there is one."""
        self.event("label", {"feature": feature, "version": version, "id": label_id, "replay": replay, "expiresIn": expires_in,
                             "label": label or {"type": "toast", "text": label_id}}, cursor)

    def presence(self, *viewers, count=None, feature="counter", **members):
        """All who look at a feature: what those of them show who show something, and the number of all."""
        self.event("presence", {"feature": feature, "count": len(viewers) if count is None else count,
                                "viewers": viewers, **members})

    def patch(self, start, to, patch, feature="counter", id=None):
        """One patch from a version to another."""
        self.event("patch", {"feature": feature, "from": start, "to": to, "patch": patch}, id)

    def goaway(self, reason, retry, field=True):
        """`goaway`, with the stream's own `retry:` unless told otherwise, then the end in good order."""
        self.ends()
        if field:
            self.send(f"retry: {retry}\n")
        self.event("goaway", {"reason": reason, "retry": retry})
        self.finish()

    def ends(self):
        """Notes that the stream ends. Call it before the bytes from which the client knows: then slowness of the kit makes a
        measured wait longer, never shorter."""
        if self.ended_at is None:
            self.ended_at = asyncio.get_running_loop().time()

    def finish(self):
        """The last chunk, then FIN."""
        self.ends()
        if self.chunked:
            self.raw(b"0\r\n\r\n")
        self.close()

    def close(self):
        """FIN without the last chunk."""
        self.ends()
        self.request.close()

    def cut(self):
        """A reset."""
        self.ends()
        self.request.cut()

    @property
    def is_gone(self):
        """Whether the connection has ended, by either side."""
        return self.request.connection.gone.is_set()

    async def client_leaves(self):
        """Returns when the connection has ended."""
        await self.request.connection.gone.wait()
