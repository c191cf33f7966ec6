"""The event stream: opens it, keeps it open, and says what came."""

import asyncio
import json
from urllib.parse import quote

from .events import EventParser
from .http import NETWORK_ERRORS, Connection
from .screen import Screen, Stale
from .session import SessionEnded, SignedOut
from .waiting import Backoff, asked, soon

UNKNOWN_SESSION = ("/problems/session-not-found", "/problems/unauthorized")


class Left(Exception):
    """This stream is over. `wait` is how long to wait before the next one, in seconds."""

    def __init__(self, wait=0.0):
        self.wait = wait


class Stream:
    """Runs until it is cancelled. `features` are what is watched; call `reopen` after a change of them."""

    def __init__(self, url, session, network, show, delta):
        self.url, self.session, self.network, self.show, self.delta = url, session, network, show, delta
        self.features = {}
        self.denied = set()
        self.backoff = Backoff()
        self.last_id = self.opened_with = ""
        self.screen = Screen(show)
        self.heartbeat = 20.0
        self.stale_streams = 0
        self.condition = None
        # `paused`, `ended`, `signedOut` or `failed`: no stream is opened.
        self.stopped = None
        self.is_live = False
        # True if the server gave the time of the next try.
        self.is_named = False
        self.changed = asyncio.Event()

    def reopen(self):
        """Lets the next turn of the event loop open the stream anew."""
        asyncio.get_running_loop().call_soon(self.changed.set)

    def set_condition(self, condition):
        if condition != self.condition:
            self.condition = condition
            if condition in ("ended", "signedOut"):
                self.screen.forget_presences()
            self.show("condition", condition=condition)

    def stop(self, condition):
        self.stopped = condition
        raise Left

    @property
    def wanted(self):
        return [feature for feature in self.features if feature not in self.denied]

    async def run(self):
        while True:
            while (resting := self.resting()) is not None:
                self.set_condition(resting)
                await self.changed.wait()
                self.changed.clear()
            self.changed.clear()
            self.is_named = False
            wait = await self.until_changed(self.one())
            self.is_live = False
            if self.resting() is None and wait:
                self.set_condition("reconnecting")
                pause = self.network.pause if self.is_named else self.network.pause_for_answer
                await self.until_changed(pause(wait))

    def resting(self):
        """The condition in which no stream is opened; None when one is to be opened."""
        if not self.network.is_online:
            return "offline"
        return self.stopped or (None if self.wanted else "idle")

    async def until_changed(self, work):
        """Runs `work`, but no longer than until something changes; returns its result."""
        tasks = [asyncio.ensure_future(work), asyncio.ensure_future(self.changed.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return tasks[0].result() if tasks[0].done() else None
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def one(self):
        """One stream from its opening to its end; returns how long to wait before the next."""
        if self.condition != "reconnecting":
            self.set_condition("connecting")
        connection = Connection(self.url)
        try:
            headers, stamp = await self.session.ready()
            # Until hello comes, the heartbeat is not known.
            self.heartbeat = 20.0
            async with asyncio.timeout(2.5 * self.heartbeat) as watchdog:
                answer = await connection.ask("GET", self.path(), {**headers, **self.stream_headers()})
                if answer.status == 200 and answer.media == "text/event-stream":
                    await self.read(connection, answer, watchdog)
                else:
                    answer.body = b"".join([piece async for piece in connection.pieces(answer)])
                    await self.refused(answer, stamp)
        except Left as left:
            return left.wait
        except SignedOut:
            self.stopped = "signedOut"
        except SessionEnded:
            self.stopped = "ended"
        except NETWORK_ERRORS:
            pass
        finally:
            connection.close()
        return self.backoff.next()

    def path(self):
        query = [f"feature={quote(feature, safe=':')}" for feature in self.wanted]
        if self.delta and self.stale_streams < 3:
            query.append(f"delta={self.delta}")
        return "/events?" + "&".join(query)

    def stream_headers(self):
        headers = {"Accept": "text/event-stream"}
        self.opened_with = self.last_id
        if self.last_id:
            headers["Last-Event-ID"] = self.last_id
        return headers

    async def read(self, connection, answer, watchdog):
        """Reads events until the stream ends."""
        parser = EventParser(self.last_id)
        loop = asyncio.get_running_loop()
        async for piece in connection.pieces(answer):
            for event in parser.feed(piece):
                self.last_id = event.last_id
                self.take_retry(parser)
                await self.take(event)
            self.last_id = parser.last_id
            self.take_retry(parser)
            watchdog.reschedule(loop.time() + 2.5 * self.heartbeat)

    def take_retry(self, parser):
        if parser.retry is not None:
            self.backoff.base = self.session.backoff.base = parser.retry / 1000

    async def take(self, event):
        """Acts on one event; raises Left when the stream is to be left."""
        handler = getattr(self, f"on_{event.type}", None) if event.type in KNOWN else None
        if handler is None:
            return
        try:
            data = json.loads(event.data)
            handler(data)
        except Stale:
            # The next stream begins with whole states.
            self.stale_streams += 1
            raise Left(0 if self.stale_streams <= 3 else self.backoff.next()) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Left(self.backoff.next()) from None

    def on_hello(self, data):
        heartbeat = float(data["heartbeat"])
        if self.session.kind == "bearer" and self.session.id not in (None, data["session"]):
            # A token is of one session: this is not its stream.
            self.last_id = self.opened_with
            raise Left(self.backoff.next())
        if self.screen.hello(data["session"], data["epoch"]):
            self.last_id = data["cursor"]
        self.heartbeat = heartbeat
        self.backoff.reset()
        self.session.is_good()
        self.is_live = True
        self.set_condition("live")

    def on_state(self, data):
        self.screen.state(data)

    def on_patch(self, data):
        self.screen.patch(data, self.delta)
        self.stale_streams = 0

    def on_label(self, data):
        self.screen.label(data)

    def on_presence(self, data):
        if data["feature"] in self.features:
            self.screen.presence(data)

    def on_end(self, data):
        self.show("end", feature=data["feature"])
        self.screen.set_presence(data["feature"], None)

    def on_denied(self, data):
        self.show("denied", feature=data["feature"])
        self.screen.set_presence(data["feature"], None)

    def on_reset(self, data):
        self.show("reset", reason=data["reason"], labelsLost=data["labelsLost"])

    def on_identity(self, data):
        self.renewing = asyncio.create_task(self.session.renew_now())

    def on_goaway(self, data):
        retry = float(data["retry"])
        match data["reason"]:
            case "superseded":
                self.stop("paused")
            case "ended":
                self.session.is_ended = True
                self.stop("ended")
            case "expired":
                self.lose_session(self.session.stamp)
            case "identity":
                self.session.has_expired(self.session.stamp)
        self.is_named = True
        raise Left(soon(retry))

    def lose_session(self, stamp):
        """The session is gone, and with it what its stream has shown."""
        self.session.is_gone(stamp)
        self.last_id = ""

    async def refused(self, answer, stamp):
        """Acts on an answer that is no stream."""
        problem = answer.problem
        if answer.status == 204 or problem == "/problems/session-ended":
            if await self.session.was_replaced(stamp):
                raise Left
            self.session.is_ended = True
            self.stop("ended")
        if problem in UNKNOWN_SESSION:
            self.lose_session(stamp)
            raise Left
        if problem == "/problems/identity-expired":
            self.session.has_expired(stamp)
            raise Left
        if problem == "/problems/forbidden" or problem == "/problems/feature-not-found":
            await self.deny()
            raise Left
        if answer.status in (400, 406) and problem:
            self.stop("failed")
        self.is_named = asked(answer) > 0
        raise Left(self.backoff.next(answer))

    async def deny(self):
        """Some of the features may not be seen. HEAD says which, and opens no stream."""
        wanted = self.wanted
        for feature in wanted:
            if len(wanted) == 1 or await self.is_refused(feature):
                self.denied.add(feature)
                self.show("denied", feature=feature)
                self.screen.set_presence(feature, None)
        if self.wanted == wanted:
            raise Left(self.backoff.next())

    async def is_refused(self, feature):
        headers, _ = await self.session.ready()
        connection = Connection(self.url)
        try:
            answer = await connection.ask("HEAD", f"/events?feature={quote(feature, safe=':')}", headers)
            return answer.status in (403, 404)
        finally:
            connection.close()


KNOWN = {name.removeprefix("on_") for name in vars(Stream) if name.startswith("on_")}
