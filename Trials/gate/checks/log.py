"""An access log into a pipe that is not read, as behind a log collector that hangs."""

import os

from figures import Failure
from link import Link, Lost
from processes import until

HOLDS = "every request is answered while nobody reads the log, and a line counts the dropped ones"
REQUESTS = 5_000


async def run(world):
    for form in ("text", "json"):
        reader, writer = os.pipe()
        node = world.node(f"server-{form}", "memory", arguments=("--access-log",), log_format=form)
        node.log = f"/dev/fd/{writer}"
        await node.start(wait=False)
        os.close(writer)
        # To look into the pipe would empty it.
        node.log = os.devnull
        await until("the server is ready", node.is_ready, 120)
        link = Link(node.port)
        answered = 0
        for _ in range(REQUESTS):
            try:
                answer = await link.ask("GET", "/features", x_request_id="a" * 100)
            except Lost as reason:
                raise Failure(f"no answer after {answered} requests while nobody reads the log ({reason})") from reason
            answered += answer.status == 200
        link.close()
        world.figures.show(f"{form}: requests answered", f"{answered} of {REQUESTS}")
        if answered != REQUESTS:
            world.figures.fault(f"{REQUESTS - answered} requests got another status than 200")
        os.set_blocking(reader, False)
        read = bytearray()

        def is_told():
            try:
                read.extend(os.read(reader, 1 << 20))
            except BlockingIOError:
                pass
            return b"Log lines were dropped" in read and read.endswith(b"\n")
        await until("a line counts the dropped lines", is_told, 60, 0.01)
        last = [line for line in read.decode().splitlines() if "were dropped" in line][-1]
        world.figures.show(f"{form}: lines", f"{read.count(b'Answered')} read; {last}")
        node.signal(15)
        code = await node.ended(60)
        if code != 0:
            raise Failure(f"the server ended with {code}")
        os.close(reader)

