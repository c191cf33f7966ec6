"""Mixed load on one server for an hour, over restarts, and judges what it leaves. script/trial soak starts it.

Exit code: 0 everything held, 1 something did not (with a line FAULT for each), 2 it could not run.
"""

import argparse
import asyncio
import pathlib
import random
import resource
import signal
import sys

# Its clients are those of the trials of several nodes.
sys.path.insert(1, str(pathlib.Path(__file__).parent.parent / "nodes"))

from figures import Failure, Figures  # noqa: E402, it lies there
from link import Lost  # noqa: E402
from notes import Notes  # noqa: E402
from soak import Soak  # noqa: E402


class SoakNotes(Notes):
    def __init__(self, figures):
        super().__init__(figures)
        self.cut_requests = self.repeats = self.compared = 0
        self.guests = self.deleted = self.expired = 0
        self.bad = self.vanished = self.resets_by_clients = self.slow_bytes = 0


async def run(options):
    figures = Figures()
    soak = Soak(options, figures, SoakNotes(figures), random.Random(options.seed))
    task = asyncio.current_task()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    code = 2
    try:
        await soak.run()
        code = 0
    except (Failure, Lost) as reason:
        figures.fault(f"the trial ended early: {reason}")
    except asyncio.CancelledError:
        figures.note("stopped")
    finally:
        soak.end()
        figures.end()
    return 1 if figures.faults else code


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--server", required=True, help="mvi-server")
    options.add_argument("--loadgen", required=True, help="the load tool")
    options.add_argument("--folder", required=True, type=pathlib.Path, help="for the server's data and log")
    options.add_argument("--results", required=True, type=pathlib.Path, help="for the samples and plots")
    options.add_argument("--seconds", type=int, default=3600)
    options.add_argument("--rate", type=int, default=900, help="intents a second of the load tool")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--leak", type=int, default=0, help="sessions with a stream a second that are never left")
    given = options.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    sys.exit(asyncio.run(run(given)))


if __name__ == "__main__":
    main()
