"""The session: its credential, made and renewed once for all that wait."""

import asyncio
import json

from .http import NETWORK_ERRORS, request
from .waiting import Backoff


class SignedOut(Exception):
    """An identity is needed, and there is none."""


class SessionEnded(Exception):
    """The session was ended."""


class Session:
    """Hands out the credential. `ready` makes the session, or renews its identity, if that is needed.

    `stamp` grows with each credential and each renewal, so that a refusal of an older one is not taken for news.
    """

    def __init__(self, url, network, kind, identity, storage, settings):
        self.url, self.network, self.kind, self.identity = url, network, kind, identity
        self.storage, self.is_restored = storage, False
        # The locale and the time zone, those that are known.
        self.settings = settings
        self.lock = asyncio.Lock()
        self.headers = None
        self.stamp = 0
        self.id = self.user = None
        # Grows when intents that wait must not run in the session that there is.
        self.life = 0
        self.needs_identity = False
        self.is_ended = False
        self.is_signed_out = False
        self.backoff = Backoff()
        # Whether a stream has shown that the session is good: one that is never known is not made again and again.
        self.is_proven = True

    def is_gone(self, stamp):
        """The server does not know the credential of this stamp."""
        if stamp == self.stamp:
            self.headers = None

    async def is_other(self, stamp):
        """The credential of this stamp names another session than it did: asks which."""
        async with self.lock:
            self.life += 1
            answer = await self.ask("GET", "/sessions/current", self.headers, None) if stamp == self.stamp else None
            if answer and answer.status == 200:
                self.describe(answer)

    def has_expired(self, stamp):
        """The identity of this stamp has expired."""
        if stamp == self.stamp:
            self.needs_identity = True

    def is_good(self):
        """A stream of the session began."""
        self.is_proven = True
        self.backoff.reset()

    async def ready(self):
        """The header fields of a good credential, and their stamp."""
        async with self.lock:
            self.check()
            if self.headers is None:
                await self.make()
            elif self.needs_identity:
                await self.renew()
            return dict(self.headers), self.stamp

    def check(self):
        if self.is_ended:
            raise SessionEnded
        if self.is_signed_out:
            raise SignedOut

    async def restore(self):
        """Continues the session of an earlier client; returns whether there is one."""
        if token := self.storage.load("credential"):
            headers = {"Authorization": f"Bearer {token}"}
            answer = await self.ask("GET", "/sessions/current", headers, None)
            if answer.status == 200:
                self.headers = headers
                self.describe(answer)
                await self.update(answer.json)
        # Not before: a stream that is opened anew gives up what waits here.
        self.is_restored = True
        return self.headers is not None

    async def update(self, known):
        """Corrects the settings of an earlier run. The session goes on without."""
        known = {name: known[name] for name in ("locale", "timeZone") if name in known}
        if {**known, **self.settings} != known:
            headers = {**self.headers, "Content-Type": "application/json"}
            try:
                await request(self.url, "PUT", "/sessions/current", headers, json.dumps({**known, **self.settings}).encode())
            except NETWORK_ERRORS:
                pass

    async def make(self):
        if not self.is_restored and await self.restore():
            return
        if not self.is_proven:
            await self.network.pause(self.backoff.next())
        self.is_proven = False
        wish = {"credential": self.kind, **self.settings}
        while True:
            answer = await self.ask("POST", "/sessions", {}, wish)
            if answer.status in (200, 201):
                break
            if answer.status == 401 and "identity" not in wish:
                wish["identity"] = await self.new_identity()
            else:
                raise self.signed_out()
        self.needs_identity = False
        lost, user = self.id, self.user
        self.take(answer)
        if lost is not None and user != self.user:
            self.life += 1

    async def renew(self):
        """Asks the callback for an identity and puts it."""
        identity = await self.new_identity()
        answer = await self.ask("PUT", "/sessions/current/identity", self.headers, {"identity": identity})
        if answer.status == 200:
            self.needs_identity = False
            self.take(answer)
        elif answer.problem == "/problems/session-ended":
            self.is_ended = True
            raise SessionEnded
        elif answer.status == 404:
            self.headers = None
            await self.make()
        else:
            raise self.signed_out()

    async def was_replaced(self, stamp):
        """Waits for a renewal under way. True if the credential of that stamp is no longer in use."""
        async with self.lock:
            return stamp != self.stamp

    async def renew_now(self):
        """Renews before the identity expires. What goes wrong shows when it has expired."""
        async with self.lock:
            try:
                if self.headers is not None and (identity := await self.identity()):
                    answer = await self.ask("PUT", "/sessions/current/identity", self.headers, {"identity": identity})
                    if answer.status == 200:
                        self.take(answer)
            except (SignedOut, SessionEnded):
                pass

    def take(self, answer):
        """Takes the credential of an answer, if it has one."""
        self.stamp += 1
        self.describe(answer)
        if token := answer.json.get("token"):
            self.headers = {"Authorization": f"Bearer {token}"}
            self.storage.save("credential", token)
        elif cookie := answer.headers.get("set-cookie"):
            self.headers = {"Cookie": cookie.partition(";")[0]}

    def describe(self, answer):
        """Notes which session it is, and whose."""
        identity = answer.json.get("identity") or {}
        self.id, self.user = answer.json.get("id"), (identity.get("issuer"), identity.get("subject"))

    async def new_identity(self):
        identity = await self.identity()
        if identity is None:
            raise self.signed_out()
        return identity

    def signed_out(self):
        self.is_signed_out = True
        return SignedOut()

    async def ask(self, method, path, headers, body):
        """One request, repeated while there is trouble that passes."""
        backoff = Backoff(self.backoff.base)
        while True:
            await self.network.online()
            answer = None
            try:
                content = None if body is None else json.dumps(body).encode()
                headers = {**headers, "Content-Type": "application/json"} if body else headers
                answer = await request(self.url, method, path, headers, content)
                if answer.status != 429 and answer.status < 500 and answer.media.endswith("json"):
                    return answer
            except NETWORK_ERRORS:
                pass
            await self.network.pause(backoff.next(answer))
