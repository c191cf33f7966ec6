"""The short form of script/trial kill."""

from checks import scripts

HOLDS = "after SIGKILL no answered intent is lost or ran twice, and recorded turns replay the same"


async def run(world):
    await scripts.run(world, "trial", "kill", "--short")
