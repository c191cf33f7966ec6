#!/usr/bin/env python3
"""Measures what a stream's bytes and a server's processor time are when states come whole and when they come as patches.

  measure.py --port PORT --pid PID --state order|rows|moves --form whole|json-patch|merge-patch [--streams N]
             [--intents N]

Opens N streams of one session, sends intents one after the other, and waits until every stream has shown the last one's
version. Prints one line of JSON: bytes of events a stream and an intent, microseconds of the server's processor time an
intent.
"""

import argparse
import http.client
import json
import os
import socket
import threading

# The feature, and the intents that are sent in turn.
STATES = {
    "order": ("order-detail:42", ['{"type":"refreshAllData"}']),
    "rows": ("rows:65536", ['{"type":"toggle","id":%d}' % (number * 37 % 799 + 1) for number in range(20)]),
    "moves": ("rows:65536", ['{"type":"rotate"}']),
}


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Stream:
    """One stream, read by a thread of its own; counts the bytes that come after the first state."""

    def __init__(self, port, token, feature, form):
        query = "" if form == "whole" else f"?delta={form}"
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.sendall(
            f"GET /features/{feature}/events{query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        self.count = 0
        self.version = 0
        self.events = {}
        self.changed = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        with self.socket.makefile("rb", buffering=1 << 18) as file:
            while file.readline() not in (b"\r\n", b""):
                pass
            name = b""
            while size := int(file.readline() or b"0", 16):
                data = file.read(size)
                file.readline()
                for line in data.split(b"\n"):
                    if line.startswith(b"event: "):
                        name = line[7:]
                    elif line.startswith(b"data: ") and name in (b"state", b"patch"):
                        # Without reading all of a large state: its head has the version.
                        head = line[6:200]
                        member = b'"version":' if name == b"state" else b'"to":'
                        version = int(head.split(member)[1].split(b",")[0])
                        with self.changed:
                            self.version = version
                            self.events[name.decode()] = self.events.get(name.decode(), 0) + 1
                            self.changed.notify_all()
                with self.changed:
                    self.count += len(data)

    def wait(self, version):
        with self.changed:
            if not self.changed.wait_for(lambda: self.version >= version, timeout=60):
                raise SystemExit(f"measure.py: a stream did not show version {version} within 60 s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--state", choices=STATES, required=True)
    parser.add_argument("--form", choices=["whole", "json-patch", "merge-patch"], required=True)
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--intents", type=int, default=500)
    options = parser.parse_args()
    feature, intents = STATES[options.state]

    connection = http.client.HTTPConnection("127.0.0.1", options.port, timeout=60)
    connection.request("POST", "/sessions")
    token = json.load(connection.getresponse())["token"]
    fields = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    if options.state == "order":
        # Answered when all sections are loaded again.
        fields["Prefer"] = "return=representation, wait=10"

    def send(number):
        """Returns the state's version after it."""
        connection.request("POST", f"/features/{feature}/intents", intents[number % len(intents)], fields)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status not in (200, 202, 204):
            raise SystemExit(f"measure.py: an intent was answered {answer.status}: {body.decode()}")
        tag = answer.headers["ETag"]
        return int(tag.strip('"').split(".")[1]) if tag else json.loads(body)["version"]

    send(0)
    streams = [Stream(options.port, token, feature, options.form) for _ in range(options.streams)]
    for number in range(20):
        last = send(number)
    for stream in streams:
        stream.wait(last)
    before = processor_seconds(options.pid), [stream.count for stream in streams]
    for number in range(options.intents):
        last = send(number)
        # A stream that skipped versions would show fewer bytes for the same work.
        for stream in streams:
            stream.wait(last)
    seconds = processor_seconds(options.pid) - before[0]
    sent = sum(stream.count - count for stream, count in zip(streams, before[1]))
    print(
        json.dumps(
            {
                "bytesPerIntent": round(sent / options.streams / options.intents, 1),
                "cpuPerIntent": round(seconds / options.intents * 1e6, 1),
                "events": streams[0].events,
            }
        )
    )


main()
