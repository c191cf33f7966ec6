"""The queue of intents: one request at a time, in order, each under one key."""

import asyncio
import json
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from urllib.parse import quote

from .http import NETWORK_ERRORS, request
from .session import SessionEnded, SignedOut
from .waiting import Backoff

MOST_INTENTS = 1000


class Refused(Exception):
    """An intent was not taken. `may_have_run` is true if it was given up while the server may have run it."""

    def __init__(self, status=None, problem=None, may_have_run=False):
        super().__init__(f"refused with {status}, {problem}")
        self.status, self.problem, self.may_have_run = status, problem, may_have_run


@dataclass
class Pending:
    """An intent that waits for its answer."""

    feature: str
    body: bytes
    deadline: float
    # None for one that an earlier client kept.
    result: asyncio.Future | None
    # The session's life that it is meant for; None for the next session.
    life: int | None
    # The end of its patience by the wall clock, for a later client.
    until: float
    # The id of the session that it is meant for, if an earlier client kept it and it is not known whether that goes on.
    owner: str | None = None
    key: str = field(default_factory=lambda: str(uuid.uuid4()))
    may_have_run: bool = False


class Intents:
    """Runs until it is cancelled. `on_new_session` is called when an intent found the session gone."""

    def __init__(self, url, session, network, patience, on_new_session, storage, show):
        self.url, self.session, self.network = url, session, network
        self.patience, self.on_new_session = patience, on_new_session
        self.storage, self.show = storage, show
        self.queue = deque(self.kept())
        self.news = asyncio.Event()

    def kept(self):
        """The intents that an earlier client kept."""
        now = asyncio.get_running_loop().time()
        for each in json.loads(self.storage.load("pending") or "[]"):
            left = min(self.patience, each["until"] - time.time())
            yield Pending(each["feature"], each["body"].encode(), now + left, None, None, each["until"], each["owner"],
                          each["key"], each["may_have_run"])

    def save(self):
        """Keeps what waits for a later client, once it is known for which session."""
        if self.storage.folder is None:
            return
        session = self.session.id
        self.storage.save("pending", json.dumps([
            {"feature": each.feature, "body": each.body.decode(), "until": each.until, "owner": each.owner or session,
             "key": each.key, "may_have_run": each.may_have_run} for each in self.queue if each.owner or session]))

    def end(self, pending, refusal):
        """Tells who waits for an intent; for a kept one nobody does."""
        if pending.result is None:
            self.show("abandoned", feature=pending.feature, intent=json.loads(pending.body))
        elif not pending.result.done():
            pending.result.set_exception(refusal)

    async def send(self, feature, intent):
        """Sends an intent and returns the version of its answer; None where the answer names none."""
        if len(self.queue) >= MOST_INTENTS:
            raise Refused
        loop = asyncio.get_running_loop()
        life = None if self.session.headers is None else self.session.life
        pending = Pending(feature, json.dumps(intent).encode(), loop.time() + self.patience, loop.create_future(), life,
                          time.time() + self.patience)
        self.queue.append(pending)
        self.news.set()
        self.save()
        return await pending.result

    async def run(self):
        while True:
            while not self.queue:
                self.news.clear()
                await self.news.wait()
            pending = self.queue[0]
            try:
                async with asyncio.timeout_at(pending.deadline):
                    version = await self.deliver(pending)
            except (Refused, asyncio.TimeoutError, SignedOut, SessionEnded) as error:
                self.end(pending, error if isinstance(error, Refused) else Refused(may_have_run=pending.may_have_run))
            else:
                if pending.result is not None and not pending.result.done():
                    pending.result.set_result(version)
            self.queue.popleft()
            self.save()

    def take_kept(self):
        """Now it is known whether the session is that of the kept intents."""
        for each in [each for each in self.queue if each.owner is not None]:
            each.life = self.session.life if each.owner == self.session.id else -1
            each.owner = None

    async def deliver(self, pending):
        """Tries until there is an answer; returns the version that it names."""
        backoff = Backoff()
        path = f"/features/{quote(pending.feature, safe=':')}/intents"
        while True:
            await self.network.online()
            backoff.base = self.session.backoff.base
            credential, stamp = await self.session.ready()
            self.take_kept()
            pending.life = self.session.life if pending.life is None else pending.life
            if pending.life != self.session.life:
                raise Refused(may_have_run=pending.may_have_run)
            headers = {**credential, "Content-Type": "application/json", "Idempotency-Key": f'"{pending.key}"'}
            headers["MVI-Session"] = self.session.id
            answer = None
            try:
                pending.may_have_run = True
                self.save()
                answer = await request(self.url, "POST", path, headers, pending.body)
            except NETWORK_ERRORS:
                await self.network.pause(backoff.next())
                continue
            if answer.status in (200, 202, 204) and (answer.status == 204 or answer.json):
                self.network.answered()
                return answer.json.get("version")
            if answer.problem in ("/problems/session-not-found", "/problems/unauthorized"):
                self.session.is_gone(stamp)
                self.on_new_session()
            elif answer.problem == "/problems/identity-expired":
                self.session.has_expired(stamp)
            elif answer.problem == "/problems/session-ended":
                if await self.session.was_replaced(stamp):
                    continue
                self.session.is_ended = True
                self.on_new_session()
                raise Refused(answer.status, answer.problem)
            elif answer.problem == "/problems/other-session":
                await self.session.is_other(stamp)
                self.on_new_session()
                raise Refused(answer.status, answer.problem)
            elif is_trouble(answer):
                await self.network.pause(backoff.next(answer))
            else:
                raise Refused(answer.status, answer.problem)


def is_trouble(answer):
    """Whether another try may go better. What the feature itself refuses is for the app to decide."""
    if answer.problem in ("/problems/intent-limited", "/problems/check-timeout"):
        return False
    return answer.status in (200, 202, 408, 429, 502, 503, 504) or answer.problem == "/problems/intent-in-progress"
