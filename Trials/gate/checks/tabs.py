"""Two tabs of Chromium with each kind of storage, of one user and of two."""

from checks import scripts

HOLDS = "two tabs of Chromium show no other session's states and labels, whatever storage, sign-in, sign-out or crash"


async def run(world):
    await scripts.run(world, "browsers", "chromium", "--only", "credential")
