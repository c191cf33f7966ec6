"""Sets one reminder in each of many sessions, or sends intents to one session and tells how long they took.

reminders.py set PORT COUNT UNIX_TIME
reminders.py tap PORT SECONDS
"""
import http.client
import json
import sys
import threading
import time


def connection():
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)


def post(client, path, body, token=None):
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = "Bearer " + token
    client.request("POST", path, json.dumps(body), headers)
    answer = client.getresponse()
    return answer.status, json.loads(answer.read() or "{}")


def set_reminders(count, due):
    faults = []

    def work(share):
        client = connection()
        for _ in range(share):
            _, session = post(client, "/sessions", {})
            status, answer = post(client, "/features/alarm/intents", {"type": "set", "at": due}, session["token"])
            if status != 202:
                faults.append(answer)
                return

    threads = [threading.Thread(target=work, args=(count // 16 + (place < count % 16),)) for place in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        sys.exit(f"an intent was refused: {faults[0]}")


def tap(seconds):
    client = connection()
    token = post(client, "/sessions", {})[1]["token"]
    times = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        status, answer = post(client, "/features/alarm/intents", {"type": "tap"}, token)
        if status != 202:
            sys.exit(f"an intent was refused: {answer}")
        times.append(time.monotonic() - start)
        time.sleep(0.01)
    times.sort()
    print(f"{len(times)} {times[len(times) // 2] * 1000:.1f} {times[int(len(times) * 0.99)] * 1000:.1f}")


port = int(sys.argv[2])
if sys.argv[1] == "set":
    set_reminders(int(sys.argv[3]), int(sys.argv[4]))
else:
    tap(float(sys.argv[3]))
