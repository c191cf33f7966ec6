"""What the platform says about the network, and waits that end early."""

import asyncio


class Network:
    """Whether there is a network. `wake` ends all waits for a next try."""

    def __init__(self):
        self.is_online = True
        self.news = asyncio.Event()

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
