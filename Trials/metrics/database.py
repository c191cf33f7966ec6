"""A PostgreSQL server in a new folder, for as long as its input is open. Prints its URL when it answers."""

import asyncio
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "nodes"))
from cluster import Postgres  # noqa: E402
from processes import Folder  # noqa: E402


async def main():
    folder = Folder()
    database = Postgres(folder.path, "database")
    try:
        await database.make()
        print(database.url(), flush=True)
        await asyncio.to_thread(sys.stdin.read)
    finally:
        await database.stop()
        folder.remove()


# A signal to all processes of a script ends the input, too: the server must not stay behind.
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
asyncio.run(main())
