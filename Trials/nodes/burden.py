"""What a deletion, sweeps and new clients cost other clients, beside millions of receipts, ended and kept sessions."""

import asyncio
import contextlib
import subprocess
import time
import uuid

from figures import Failure, milliseconds
from link import Link
from processes import TERMINATE, until

ADMIN = "a-token-of-the-trial"
CLIENTS = 16
LONGEST = 0.3       # seconds for any answer meanwhile
# Sessions and their rows that an hour, a day and more have left. Keys above a million are of no client of this trial.
_FILL = """
SET synchronous_commit = off; SET maintenance_work_mem = '256MB';
INSERT INTO mvi.heads (key, seen, epoch, past) SELECT 1000000 + i, (extract(epoch FROM now()) * 1e9)::bigint, 'e', 0
    FROM generate_series(1, {kept}) i;
INSERT INTO mvi.sessions (key, token, id, credential, created, noted, shared) OVERRIDING SYSTEM VALUE
    SELECT 1000000 + i, sha256(i::text::bytea), convert_to(md5(i::text), 'UTF8'), 'bearer',
        ((extract(epoch FROM now()) - 36000) * 1e9)::bigint,
        ((extract(epoch FROM now()) - 3600 + i % 3000) * 1e9)::bigint, false FROM generate_series(1, {kept}) i;
INSERT INTO mvi.receipts (era, session, hash, scope, name, number, made, intent, version, body_hash)
    SELECT floor(extract(epoch FROM now()) / 86400)::int, 1000000 + i % 10000, hashtextextended(i::text, 0), 'kcounter',
        convert_to(md5(i::text), 'UTF8'), i, 1, 'add', 1, decode(md5(i::text), 'hex') FROM generate_series(1, {receipts}) i;
INSERT INTO mvi.tokens (token, until) SELECT sha256(('t' || i)::bytea),
    ((extract(epoch FROM now()) + 3600 + i % 80000) * 1e9)::bigint FROM generate_series(1, {ended}) i;
ANALYZE;
"""
# Sessions that expired decades ago.
_EXPIRED = """
INSERT INTO mvi.sessions (key, token, id, credential, created, noted, shared) OVERRIDING SYSTEM VALUE
    SELECT -i, sha256(('x' || i)::bytea), convert_to(md5('x' || i), 'UTF8'), 'bearer', 1, 2, false
    FROM generate_series(1, 50) i;
INSERT INTO mvi.heads (key, seen, epoch, past) SELECT -i, 2, 'e', 0 FROM generate_series(1, 50) i
"""


class Crowd:
    """Clients that send an intent each twentieth of a second, and how long their answers took."""

    def __init__(self, port):
        self.port, self.tokens, self.taken, self.others = port, [], [], []

    async def ask(self, method, path, body=None, token=None, **fields):
        link = Link(self.port)
        try:
            return await link.ask(method, path, body, token, **fields)
        finally:
            link.close()

    async def add(self, token):
        return await self.ask(
            "POST", "/features/counter/intents", {"type": "add", "amount": 1}, token,
            Idempotency_Key=f'"{uuid.uuid4().hex}"')

    async def begin(self):
        for _ in range(CLIENTS):
            self.tokens.append((await self.ask("POST", "/sessions", {})).json()["token"])
            # Only then it is stored.
            await self.add(self.tokens[-1])

    async def run(self):
        async def client(token):
            while True:
                began = time.monotonic()
                answer = await self.add(token)
                self.taken.append(time.monotonic() - began)
                if answer.status != 202:
                    self.others.append(answer.status)
                await asyncio.sleep(0.05)
        await asyncio.gather(*map(client, self.tokens))

    def show(self, figures, name):
        """The answers since the last call."""
        figures.show(name, milliseconds(self.taken) + f", {len(self.others)} not 202")
        if self.others or max(self.taken, default=0) > LONGEST:
            figures.fault(f"{name}: {len(self.others)} answers are not 202, the longest took {max(self.taken):.2f} s")
        self.taken, self.others = [], []


async def run(world, stored):
    figures = world.figures
    database = await world.database("burdened", more="maintenance_work_mem = 256MB\nmax_wal_size = 4GB\n")
    node = await world.node(
        "beside", database.url(), identity_header="X-Remote-User", trusted_proxy="127.0.0.1", admin_token=ADMIN,
        session_rate="0", max_kept_sessions=stored).start()
    crowd = Crowd(node.port)
    await crowd.begin()
    anna = (await crowd.ask("POST", "/sessions", {}, X_Remote_User="anna")).json()["token"]
    await crowd.ask(
        "POST", "/features/counter/intents", {"type": "add", "amount": 1}, anna, X_Remote_User="anna",
        Idempotency_Key='"k1"')
    # It counts large tables by estimates, at its start and each ten minutes.
    node.signal(TERMINATE)
    await node.ended()
    began = time.monotonic()
    sizes = {"kept": stored * 11 // 10, "receipts": 5 * stored, "ended": 4 * stored}
    await database.sql(_FILL.format(**sizes))
    figures.show("filled with", f"{sizes} in {time.monotonic() - began:.0f} s")
    await node.start()
    running = asyncio.ensure_future(crowd.run())
    try:
        await asyncio.sleep(10)
        crowd.show(figures, "before")

        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            world.options.server, "forget", "anna", "--issuer", "proxy", "--admin-host", "127.0.0.1",
            "--admin-port", str(node.admin), "--token", ADMIN, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said, _ = await process.communicate()
        taken = time.monotonic() - began
        left = await database.value(
            "SELECT (SELECT count(*) FROM mvi.sessions WHERE subject IS NOT NULL) + "
            "(SELECT count(*) FROM mvi.receipts r WHERE session < 1000000 AND NOT EXISTS ("
            "SELECT FROM mvi.heads h WHERE h.key = r.session))")
        figures.show("a person's deletion", f"{taken:.2f} s, {left} rows left")
        if process.returncode or taken > 2 or left != "0":
            figures.fault(f"the deletion took {taken:.1f} s and left {left} rows: {said.decode()[-300:]}")
        crowd.show(figures, "others during the deletion")

        await database.sql(_EXPIRED)

        async def expired():
            return await database.value("SELECT count(*) FROM mvi.sessions WHERE key < 0") == "0"
        began = time.monotonic()
        with contextlib.suppress(Failure):
            await until("the expiry", expired, seconds=40)
        left = await database.value("SELECT count(*) FROM mvi.sessions WHERE key < 0")
        figures.show("an expiry", f"{left} of 50 expired sessions left after {time.monotonic() - began:.0f} s")
        if left != "0":
            figures.fault(f"{left} of 50 sessions do not expire")
        await asyncio.sleep(15)
        crowd.show(figures, "others during sweeps")

        answers = {}
        for _ in range(20):
            made = await crowd.ask("POST", "/sessions", {})
            status = (await crowd.add(made.json()["token"])).status if made.status == 201 else made.status
            answers[status] = answers.get(status, 0) + 1
            await asyncio.sleep(1)
        figures.show("new clients at the limit", f"{answers}")
        crowd.show(figures, "others beside new clients")
    finally:
        running.cancel()
