"""The client: one session, one stream, one queue of intents."""

import asyncio

from .intents import Intents, Refused
from .network import Network
from .session import Session
from .storage import Storage
from .stream import Stream

__all__ = ["Client", "Refused"]


async def no_identity():
    return None


class Client:
    """A client of one server. Make it inside a running event loop.

    `show(what, **members)` is called with `state`, `presence`, `label`, `condition`, `end`, `denied` and `reset`.
    `identity` is an async function that returns a JWT or None. `patience` is in seconds. `folder` keeps the token and
    the intents that wait, for the next client; `abandoned` is shown for each of them that fails. `locale` and
    `time_zone` are told to the server.
    """

    def __init__(self, url, show, credential="bearer", delta=None, identity=no_identity, patience=300.0,
                 folder=None, locale=None, time_zone=None):
        self.show = show
        self.network = Network()
        storage = Storage(folder)
        settings = {name: value for name, value in (("locale", locale), ("timeZone", time_zone)) if value}
        self.session = Session(url, self.network, credential, identity, storage, settings)
        self.stream = Stream(url, self.session, self.network, show, delta)
        self.intents = Intents(url, self.session, self.network, patience, self.new_session, storage, show)
        self.tasks = [asyncio.create_task(self.stream.run()), asyncio.create_task(self.intents.run())]

    def new_session(self):
        """An intent found the session gone: the stream moves to the new one."""
        self.stream.last_id = ""
        self.stream.reopen()

    def watch(self, feature, labels=True):
        """Shows a feature from now on. Unless told otherwise with its labels; else these wait for `read`."""
        if not labels:
            self.stream.screen.leave_unread(feature)
        if feature not in self.stream.wanted:
            self.stream.features[feature] = True
            self.stream.denied.discard(feature)
            self.stream.reopen()

    def read(self, feature):
        """Shows the labels of a feature, too."""
        self.stream.screen.read(feature)

    def unwatch(self, feature):
        """Shows a feature no more."""
        self.stream.screen.set_presence(feature, None)
        if self.stream.features.pop(feature, None):
            self.stream.reopen()

    async def send(self, feature, intent):
        """Sends an intent; returns its version when the server has taken it, raises Refused when it has not."""
        return await self.intents.send(feature, intent)

    def offline(self):
        """The platform says that there is no network."""
        self.network.set(False)
        self.stream.reopen()

    def online(self):
        """The platform says that there is a network."""
        self.network.set(True)
        self.try_now()

    def foreground(self):
        """The client is looked at again."""
        if self.stream.stopped == "paused":
            self.stream.stopped = None
        self.network.wake()
        self.try_now()

    def try_now(self):
        if not self.stream.is_live:
            self.stream.reopen()

    async def close(self):
        """Ends the stream, and with it everything that waits."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.stream.set_condition("closed")
