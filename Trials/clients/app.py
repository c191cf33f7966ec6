#!/usr/bin/env python3
"""A client on a bad network: sends intents through a relay while the server is killed and deployed and connections end or
freeze. Prints figures; exit code 1 unless each intent ran once, each label came once and in order, no state went back, and
memory was flat in the last half of five minutes or more.

   Trials/clients/app.py SERVER DATA PORT SECONDS SEED DRIVER...     a driver of Clients/Conformance
"""

import atexit
import json
import pathlib
import random
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Tests/browsers"))
from relay import Relay

program, data, port, seconds, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
chance = random.Random(seed)
# Above the client's rate, so that the network alone delays intents.
limits = ["--max-receipts", "100000", "--receipt-bytes", "64MiB", "--outbox-bytes", "16MiB", "--outbox-labels", "100000"]


class Server:
    def __init__(self):
        self.port, self.process = port, None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [program, "--host", "127.0.0.1", "--port", str(port), "--data", data, "--log-level", "error",
             "--demo-latency", "20ms", "--heartbeat", "2s", *limits])

    def end(self, kill):
        (self.process.kill if kill else self.process.terminate)()
        self.process.wait()
        if kill:
            time.sleep(chance.random())
        self.start()


def is_ready():
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=2).status == 200
    except OSError:
        return False


server = Server()
atexit.register(lambda: server.process.kill())
while not is_ready():
    if server.process.poll() is not None:
        sys.exit("the server ended at its start")
    time.sleep(0.05)
relay = Relay(server)
driver = subprocess.Popen(sys.argv[6:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
atexit.register(driver.kill)
sent, refused, labels, states = set(), [], [], []


def read():
    for said in map(json.loads, driver.stdout):
        match said["saw"]:
            case "sent": sent.add(said["tag"])
            case "refused": refused.append(said)
            case "label": labels.append((said["id"], said["label"]["count"]))
            case "state": states.append(said["state"]["count"])


def tell(do, **members):
    driver.stdin.write(json.dumps({"do": do, **members}) + "\n")


def memory():
    with open(f"/proc/{driver.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) // 1024


threading.Thread(target=read, daemon=True).start()
tell("open", url=relay.url.rstrip("/"), features=["counter"], credential="bearer", delta="json-patch", identities=[])
events = {"kills": lambda: server.end(kill=True), "deploys": lambda: server.end(kill=False), "cuts": relay.drop,
          "frozen streams": relay.freeze_streams}
counts, sizes, number = dict.fromkeys(events, 0), [], 0
end = time.monotonic() + seconds
following, sampling = time.monotonic() + 3, time.monotonic()
while (now := time.monotonic()) < end:
    number += 1
    # The demo publishes a label at each multiple of ten.
    tell("send", feature="counter", intent={"type": "add", "amount": 10}, tag=str(number))
    time.sleep(chance.random() * 0.2)
    if now > sampling:
        sampling = now + seconds / 20
        sizes.append(memory())
    if now > following:
        name = chance.choice(list(events))
        counts[name] += 1
        events[name]()
        following = time.monotonic() + chance.uniform(4, 11)
deadline = time.monotonic() + 90
while time.monotonic() < deadline and not (len(sent) == len(labels) == number and states and states[-1] == 10 * number):
    time.sleep(0.2)
tell("close")
driver.stdin.close()
ended = driver.wait(20)

late, last = sizes[len(sizes) // 2:], states[-1] if states else 0
print(f"intents                  {number}, {len(sent)} accepted, {len(refused)} refused; the count is {last / 10:g}")
print(f"labels                   {len(labels)}, {len(set(labels))} of them different")
print("events                   " + ", ".join(f"{count} {name}" for name, count in counts.items()))
print(f"memory in the last half  {min(late)} to {max(late)} MiB")
held = (len(sent) == number and last == 10 * number and states == sorted(states) and ended == 0
        and [count for _, count in labels] == list(range(10, 10 * number + 1, 10))
        # At first a JVM grows into its heap.
        and (seconds < 300 or max(late) < 1.25 * min(late)))
sys.exit(0 if held else 1)
