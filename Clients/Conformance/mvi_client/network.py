"""What the platform says about the network, and waits that end early."""

import asyncio

from .waiting import SHORTEST


class Network:
    """Whether there is a network. `wake` ends all waits for a next try."""

    def __init__(self):
        self.is_online = True
        self.news = asyncio.Event()
        self.answers = asyncio.Event()

    def answered(self):
        """The server is there: ends the waits of `pause_for_answer`."""
        self.answers.set()
        self.answers = asyncio.Event()

    def wake(self):
        """Ends all waits."""
        self.news.set()
        self.news = asyncio.Event()

    def set(self, is_online):
        self.is_online = is_online
        self.wake()

    async def online(self):
        """Returns when there is a network."""
        while not self.is_online:
            await self.news.wait()

    async def pause(self, seconds):
        """Waits so long, or until something wakes it."""
        if seconds > 0:
            try:
                await asyncio.wait_for(self.news.wait(), seconds)
            except asyncio.TimeoutError:
                pass

    async def pause_for_answer(self, seconds):
        """The same, but an answered intent ends it, too, unless the failure was just now."""
        answer, rest = asyncio.ensure_future(self.answers.wait()), asyncio.ensure_future(self.pause(seconds))
        try:
            await asyncio.wait([rest], timeout=SHORTEST)
            await asyncio.wait([answer, rest], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (answer, rest):
                each.cancel()
            await asyncio.gather(answer, rest, return_exceptions=True)
