"""A PostgreSQL server in a new folder, for as long as its input is open. Prints its URL when it answers."""

import asyncio
import pathlib
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


asyncio.run(main())
