"""The short form of script/trial full."""

from checks import scripts

HOLDS = "on a full or failing disk intents are refused, reads go on, nothing is lost, and the server recovers"


async def run(world):
    await scripts.run(world, "trial", "full", "--short")
