"""What a scenario works with: the server, the driver, and checks that name the rule they test."""

import asyncio
import json
import tempfile
from pathlib import Path

from .server import Server
from .stream import Stream


# The rule about drivers, and when a program counts as hung that does not start or end.
DRIVER_RULE = 71
START_SECONDS = 120

# A client that must come back at once has to do so before the end of the wait that it cuts short. The longest back-off is 30 s,
# and a random half of it, so a client that is there after 14 s has not waited.
LONG_WAIT = 14
LONG_RETRY = 30_000


class Broken(Exception):
    """A rule is broken: what was expected and what was seen."""

    def __init__(self, rule, expected, seen):
        super().__init__(f"rule {rule}: expected {expected}; seen {seen}")
        self.rule, self.expected, self.seen = rule, expected, seen


def short(value):
    """A value as JSON, cut to one readable line."""
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
    return text if len(text) <= 160 else text[:157] + "..."


class Play:
    """One run of one scenario.

    `patience` is how long a check waits for what should happen, in seconds; a check that passes does not wait.

    A slow machine never fails a client. What must not come too early is compared with the time of the event before it, which
    the kit notes before it writes: slowness makes the measured wait longer. What must not come too late is compared with
    `lateness`, which only a hang exceeds, or nothing on the virtual clock of `prove`.

    A scenario must not sleep so that the driver has read something. It lets the driver do something behind it that is seen, such
    as an intent or a stream of another feature.
    """

    def __init__(self, driver, patience):
        self.patience = patience
        self.server = Server()
        self.driver = driver
        self.others = []
        self.folder = None

    @property
    def lateness(self):
        """How much later than due something may come, in seconds."""
        return 0.1 if self.driver.is_virtual else self.patience

    @property
    def at_once(self):
        """How long a client may take for what it must do without a wait, in seconds. The waits that it must not make are longer:
        at least `LONG_RETRY` or a `goaway` makes them so."""
        return min(LONG_WAIT, 1 + self.lateness)

    # --- Set up ---

    async def start(self):
        await self.server.listen()
        await self.driver.start()

    async def open(self, *features, **options):
        """Tells the driver to open a client for the server, and waits for its first sign of life."""
        if self.server.listener is None:
            await self.start()
        self.tell("open", url=self.server.url, features=list(features or ("counter",)),
                  **{"credential": "bearer", "delta": None, "identities": [], **options})
        await self.begins()

    async def begins(self):
        """Waits for the first request. A program may take long to start on a busy machine; measuring begins behind it."""
        for _ in range(round(START_SECONDS / 0.02)):
            if self.server.requests:
                return
            if (status := self.driver.status) is not None:
                raise Broken(DRIVER_RULE, "the driver asks for a session", f"its program ended with status {status}")
            await asyncio.sleep(0.02)
        raise Broken(DRIVER_RULE, "the driver asks for a session", f"no request in {START_SECONDS} s. {self.recent()}")

    async def live(self, *features, retry=50, **options):
        """Opens a client and accepts its first stream, with a first state of version 1 of each feature."""
        await self.open(*features, **options)
        stream = await self.stream()
        stream.accept(retry=retry)
        for feature in stream.request.features:
            stream.state(1, feature=feature, id="e1.1")
        await self.condition("live")
        for feature in features or ("counter",):
            await self.shows(1, feature)
        return stream

    async def live_with_folder(self, **options):
        """A client that keeps its credential and its intents in a folder."""
        # A program that goes on may write into a folder that is being deleted.
        self.driver.idle = None
        self.folder = self.folder or tempfile.TemporaryDirectory()
        stream = await self.live(folder=self.folder.name, **options)
        await self.within(1, self.credential_kept(), "the credential is kept")
        return stream

    async def credential_kept(self):
        """Waits until the driver's storage has a credential: a client may show states before it is written."""
        file = Path(self.folder.name) / "credential"
        while not (file.exists() and file.read_text(encoding="utf-8")):
            await asyncio.sleep(0.02)

    async def keeps(self, rule, *words, drops=()):
        """Waits until the driver's storage of intents has these words, and none of the others."""
        async def wait():
            file = Path(self.folder.name) / "pending"
            while True:
                text = file.read_text(encoding="utf-8") if file.exists() else ""
                if all(word in text for word in words) and not any(word in text for word in drops):
                    return
                await asyncio.sleep(0.02)
        await self.within(rule, wait(), f"the intents {', '.join(words)} are kept, and not {', '.join(drops) or 'others'}")

    def forget_credential(self):
        """Takes the credential out of the driver's folder."""
        (Path(self.folder.name) / "credential").unlink(missing_ok=True)

    async def kill(self):
        """Ends the driver as a system ends an app, and starts it again without a client."""
        await self.driver.kill()
        self.driver.lines.clear()
        await self.driver.start()

    async def another_server(self):
        """A second origin."""
        server = Server()
        server.automatic = {}
        await server.listen()
        self.others.append(server)
        return server

    async def stop(self):
        await self.driver.stop()
        if self.folder:
            self.folder.cleanup()
        for server in [self.server, *self.others]:
            if server.listener is not None:
                server.stop()

    def tell(self, do, **members):
        self.driver.tell({"do": do, **members})

    def send(self, tag, feature="counter", intent=None):
        """Tells the driver to send an intent."""
        self.tell("send", feature=feature, intent=intent or {"type": "add", "tag": tag}, tag=tag)

    # --- Checks ---

    @property
    def now(self):
        return asyncio.get_running_loop().time()

    def check(self, rule, holds, expected, seen):
        """Fails the scenario with this rule unless `holds`."""
        if not holds:
            raise Broken(rule, expected, seen if isinstance(seen, str) else short(seen))

    def recent(self):
        """The end of what happened, for the text of a failure."""
        said = [{name: value for name, value in line.items() if name != "at"} for line in self.driver.lines[-4:]]
        asked = [str(request) for request in self.server.requests[-4:]]
        return f"driver: {'; '.join(map(short, said)) or 'nothing'}. Requests: {'; '.join(asked) or 'none'}"

    async def within(self, rule, awaitable, expected, seconds=None):
        """The result of `awaitable`, in time."""
        try:
            return await asyncio.wait_for(awaitable, seconds or self.patience)
        except asyncio.TimeoutError:
            raise Broken(rule, expected, f"nothing in {seconds or self.patience:g} s. {self.recent()}") from None

    async def request(self, kind, rule, expected, seconds=None):
        """The next request of a kind that the server does not answer by itself."""
        return await self.within(rule, self.server.queue(kind).get(), expected, seconds)

    async def stream(self, rule=27, expected="a stream is opened", seconds=None, current=True):
        """The next stream. Unless told otherwise it must carry the credential of the newest session."""
        request = await self.request("stream", rule, expected, seconds)
        if current:
            self.check_credential(request)
        return Stream(request)

    def check_credential(self, request):
        self.check(1, self.server.sessions and request.credential == self.server.sessions[-1],
                   "the credential of the session in Authorization or Cookie",
                   f"{request.credential or 'no credential'} with {request}")
        self.check(1, not any(token in request.target for token in self.server.sessions),
                   "no token in a URL", request.target)

    async def intent(self, rule=55, expected="the intent is sent", seconds=None, current=True):
        """The next `POST` of an intent."""
        request = await self.request("intent", rule, expected, seconds)
        if current:
            self.check_credential(request)
        return request

    def accept(self, intent, version=2, headers=()):
        """202 for an intent."""
        intent.respond(202, {"intent": intent.key or "i1", "session": self.server.session_of(intent) or "s0",
                             "feature": intent.path.split("/")[2], "version": version}, headers)

    async def no_request(self, kind, rule, seconds, expected):
        """Fails when a request of a kind comes in the given time. None may come later either: the time need not be exact."""
        if request := await self.next_request(kind, seconds):
            raise Broken(rule, expected, f"{request}")

    async def next_request(self, kind, seconds):
        """The next request of a kind; None if none comes in the given time."""
        try:
            return await asyncio.wait_for(self.server.queue(kind).get(), seconds)
        except asyncio.TimeoutError:
            return None

    def said(self, saw, **members):
        """The driver's lines of a kind with these members."""
        return [line for line in self.driver.lines
                if line["saw"] == saw and all(line.get(name) == value for name, value in members.items())]

    async def saw(self, saw, rule, expected, seconds=None, **members):
        """The driver's first line of a kind with these members, waited for."""
        async def wait():
            while not (found := self.said(saw, **members)):
                self.driver.news.clear()
                await self.driver.news.wait()
            return found[0]
        return await self.within(rule, wait(), expected, seconds)

    async def condition(self, name, rule=18, seconds=None, since=0.0):
        """Waits until the driver has reported a condition."""
        async def wait():
            while not any(line["at"] >= since for line in self.said("condition", condition=name)):
                self.driver.news.clear()
                await self.driver.news.wait()
        await self.within(rule, wait(), f"the condition {name}", seconds)

    async def shows(self, version, feature="counter", rule=36, state=None, seconds=None):
        """Waits until a state was shown, and compares it: `{"count": version}` unless told otherwise."""
        line = await self.saw("state", rule, f"the state of {feature} in version {version}", seconds,
                              feature=feature, version=version)
        wanted = {"count": version} if state is None else state
        self.check(rule, line.get("state") == wanted, f"the state {short(wanted)}", line.get("state"))

    def does_not_show(self, version, rule, feature="counter", why="is not shown"):
        """Fails when a state was shown."""
        self.check(rule, not self.said("state", feature=feature, version=version),
                   f"version {version} of {feature} {why}", f"it was shown. {self.recent()}")

    def check_wait(self, rule, stream, before, least, most, why):
        """Compares how long after the end of `before` the request of `stream` came, in seconds."""
        waited = stream.time - before.ended_at
        self.check(rule, least <= waited <= most + self.lateness, f"{why}: a wait of {least:g} to {most:g} s", f"{waited:.3f} s")

    def check_not_before(self, rule, request, refused, least):
        """Compares how long after the answer to `refused` a request came, in seconds."""
        waited = request.time - refused.answered_at
        self.check(rule, waited >= least, f"not before {least:g} s", f"{waited:.2f} s")
