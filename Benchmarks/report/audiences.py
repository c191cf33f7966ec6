"""One shared store that 1,000 guests and 20 hosts watch, each guest an audience of its own, beside one that shows all the same.

    audiences.py TRIAL_SERVER [--rounds 3] [--seconds 20]

Each host sends an intent a second, which changes what every guest sees. Prints latencies of intents, views that guests were
sent, and processor time. Fails if a guest's stream has another guest's name.
"""
import argparse, asyncio, json, os, re, socket, statistics, subprocess, sys, time

GUESTS, HOSTS = 1_000, 20
arguments = argparse.ArgumentParser()
arguments.add_argument("server")
arguments.add_argument("--rounds", type=int, default=3)
arguments.add_argument("--seconds", type=int, default=20)
options = arguments.parse_args()
environment = dict(
    os.environ, MVI_HOST="127.0.0.1", MVI_JOURNAL="memory", MVI_LOG_LEVEL="error", MVI_INTENT_RATE="0",
    MVI_SESSION_RATE="0", MVI_MAX_CONNECTIONS_PER_ADDRESS="100000", MVI_MAX_STREAMS_PER_ADDRESS="100000")


class Connection:
    async def open(self, port):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port)
        return self

    async def ask(self, method, path, token=None, body=None):
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        if token: head += f"Authorization: Bearer {token}\r\n"
        data = json.dumps(body).encode() if body else b""
        if body: head += "Content-Type: application/json\r\n"
        if method != "GET": head += f"Content-Length: {len(data)}\r\n"
        self.writer.write((head + "\r\n").encode() + data)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", answer)
        return int(answer[9:12]), await self.reader.readexactly(int(length[1])) if length else b""


class Stream(asyncio.Protocol):
    """Counts states and the guests' names in them."""

    def __init__(self, port, token):
        self.head = f"GET /events?feature=line HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n"
        self.states, self.names, self.tail = 0, set(), b""

    def connection_made(self, transport):
        self.transport = transport
        transport.write(self.head.encode())

    def data_received(self, data):
        *lines, self.tail = (self.tail + data).split(b"\n")
        for line in lines:
            if line.startswith(b"event: state"): self.states += 1
            if line.startswith(b"data: "): self.names.update(re.findall(rb'"you":"([^"]*)"', line))


async def run(arguments):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [options.server, "line", *arguments], env=dict(environment, MVI_PORT=str(port)), stdout=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                if (await (await Connection().open(port)).ask("GET", "/health/ready"))[0] == 200: break
            except OSError: pass
            await asyncio.sleep(0.05)
        control, tokens = await Connection().open(port), []
        for number in range(GUESTS + HOSTS):
            body = {"identity": f"host-{number}"} if number >= GUESTS else {}
            status, answer = await control.ask("POST", "/sessions", body=body)
            assert status == 201, (status, answer)
            tokens.append(json.loads(answer)["token"])
        for token in tokens[:GUESTS]:
            status, answer = await control.ask("POST", "/features/line/intents", token, {"type": "join"})
            assert status == 202, (status, answer)
        loop, streams = asyncio.get_running_loop(), []
        for token in tokens:
            streams.append((await loop.create_connection(lambda: Stream(port, token), "127.0.0.1", port))[1])
        while any(stream.states == 0 for stream in streams): await asyncio.sleep(0.1)
        states, latencies, end = sum(s.states for s in streams), [], time.monotonic() + options.seconds
        used = processor_time(server.pid)

        async def host(number, token):
            connection = await Connection().open(port)
            await asyncio.sleep(number / HOSTS)
            while time.monotonic() < end:
                begun = time.monotonic()
                status, answer = await connection.ask("POST", "/features/line/intents", token, {"type": "next"})
                assert status == 202, (status, answer)
                latencies.append(time.monotonic() - begun)
                await asyncio.sleep(max(0, 1 - latencies[-1]))

        await asyncio.gather(*(host(number, token) for number, token in enumerate(tokens[GUESTS:])))
        await asyncio.sleep(0.5)
        used = processor_time(server.pid) - used
        if not arguments:
            wrong = [stream for stream in streams[:GUESTS] if len(stream.names) != 1]
            names = {name for stream in streams[:GUESTS] for name in stream.names}
            if wrong or len(names) != GUESTS: sys.exit("A guest was shown another's place.")
            if any(stream.names for stream in streams[GUESTS:]): sys.exit("A host was shown a guest's place.")
        latencies.sort()
        return (
            latencies[len(latencies) // 2] * 1000, latencies[int(len(latencies) * 0.99) - 1] * 1000,
            (sum(s.states for s in streams) - states) / options.seconds, used / options.seconds * 100)
    finally:
        server.terminate()
        server.wait()


def processor_time(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


results = {"audiences": [], "everyone": []}
for _ in range(options.rounds):
    results["everyone"].append(asyncio.run(run(["open"])))
    results["audiences"].append(asyncio.run(run([])))
print("           p50 ms  p99 ms  states/s  processor %")
for name, rounds in results.items():
    print(f"{name:10}" + "{:7.1f} {:7.1f} {:9.0f} {:12.0f}".format(*(statistics.median(row) for row in zip(*rounds))))
