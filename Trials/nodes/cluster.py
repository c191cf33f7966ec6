"""PostgreSQL servers of the trial's own, with a standby where it is asked for."""

import asyncio
import glob
import os
import pathlib
import shutil
import subprocess

from figures import Failure
from processes import free_port

SETTINGS = """
listen_addresses = '{addresses}'
port = {port}
unix_socket_directories = '{folder}'
max_connections = 120
shared_buffers = 256MB
wal_level = replica
max_wal_senders = 10
hot_standby = on
wal_keep_size = 256MB
log_min_messages = warning
{more}
"""


def _programs():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: float(path.split("/")[4]))
    if found:
        return found[-1]
    if program := shutil.which("initdb"):
        return os.path.dirname(program)
    raise Failure("no PostgreSQL: script/bootstrap installs it")


class Postgres:
    """One PostgreSQL server. It does not run as root, which PostgreSQL refuses."""

    def __init__(self, folder, name, more="", addresses="127.0.0.1", owns=None):
        self.name = name
        self.folder = pathlib.Path(folder) / name
        self.data = self.folder / "data"
        self.port = free_port()
        self.more, self.addresses = more, addresses
        self.programs = _programs()
        self.folder.mkdir(mode=0o755)
        self._own(self.folder)
        if owns:
            self._own(owns)

    def _own(self, path):
        if os.geteuid() == 0:
            shutil.chown(path, "nobody", "nogroup")

    async def _run(self, program, *arguments, check=True):
        command = [f"{self.programs}/{program}", *map(str, arguments)]
        if os.geteuid() == 0:
            command = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *command]
        # The server keeps what it is started with open: no pipe.
        output = self.folder / f"{program}.out"
        with open(output, "wb") as file:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd="/")
            code = await process.wait()
        if check and code != 0:
            raise Failure(f"{program}: {self._said(program)}")
        return code

    def _said(self, program):
        return (self.folder / f"{program}.out").read_text(encoding="utf-8", errors="replace")[-2000:]

    def _configure(self, more=""):
        with open(self.data / "postgresql.auto.conf", "w", encoding="utf-8") as file:
            file.write(SETTINGS.format(
                port=self.port, folder=self.folder, addresses=self.addresses, more=self.more) + more)
        self._own(self.data / "postgresql.auto.conf")

    async def make(self):
        """An empty database, started."""
        await self._run("initdb", "-D", self.data, "-U", "mvi", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        with open(self.data / "pg_hba.conf", "a", encoding="utf-8") as file:
            file.write("host all all 10.0.0.0/8 trust\n")
        self._configure()
        await self.start()

    async def copy_of(self, primary):
        """A standby of that server, started and following it."""
        await self.backup_of(primary)
        self._configure(f"primary_conninfo = 'host=127.0.0.1 port={primary.port} user=mvi application_name={self.name}'\n"
                        "recovery_target_timeline = 'latest'\n")
        self._signal("standby")
        await self.start()

    async def backup_of(self, primary):
        """The files of that server, not started."""
        await self._run(
            "pg_basebackup", "-D", self.data, "-h", "127.0.0.1", "-p", primary.port, "-U", "mvi", "-c", "fast", "-X", "stream",
            "--no-sync")

    async def recover(self, settings):
        """Starts such files, and brings them to where the settings say."""
        self._configure(settings)
        self._signal("recovery")
        await self.start()

    async def become_primary(self):
        """A standby that was stopped is started, follows nobody, and is promoted."""
        self._configure()
        await self.start()
        await self.promote()

    def _signal(self, name):
        (self.data / f"{name}.signal").touch()
        self._own(self.data / f"{name}.signal")

    def _asking(self):
        return ("-h", "127.0.0.1", "-p", self.port, "-U", "mvi", "-d", "postgres")

    async def dump(self):
        """Writes the sessions' schema down, as docs/deployment.md says."""
        await self._run("pg_dump", *self._asking(), "--schema=mvi", "-f", self.folder / "dump.sql")

    async def restore(self):
        """Puts the last dump in the schema's place, in one transaction. One that loses against a server's is repeated."""
        for _ in range(20):
            if await self._run(
                    "psql", *self._asking(), "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-c", "DROP SCHEMA mvi CASCADE",
                    "-f", self.folder / "dump.sql", check=False) == 0:
                return
            if "deadlock" not in self._said("psql"):
                break
        raise Failure(f"psql: {self._said('psql')}")

    async def start(self):
        await self._run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "-t", "60", "start")

    async def stop(self, mode="immediate"):
        """`fast` ends connections in order, `immediate` as a crash does."""
        await self._run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop", check=False)

    async def restart(self, mode="fast"):
        await self._run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-m", mode, "-w", "-t", "60", "restart")

    async def promote(self):
        await self._run("pg_ctl", "-D", self.data, "-w", "-t", "60", "promote")

    async def reload(self, more=None):
        if more is not None:
            self.more = more
            self._configure()
        await self._run("pg_ctl", "-D", self.data, "reload")

    async def sql(self, text, check=True):
        """The rows of one or more statements, as lists of texts."""
        process = await asyncio.create_subprocess_exec(
            f"{self.programs}/psql", "-X", "-q", "-At", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", str(self.folder),
            "-p", str(self.port), "-U", "mvi", "-d", "postgres", "-f", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, "PGCONNECT_TIMEOUT": "5"})
        out, error = await process.communicate(text.encode())
        if process.returncode != 0:
            if check:
                raise Failure(f"psql: {error.decode()[-500:]}")
            return None
        return [line.split("\t") for line in out.decode().splitlines()]

    async def value(self, text):
        rows = await self.sql(text)
        return rows[0][0] if rows else None

    async def processor_seconds(self):
        """What all its processes have used so far. Those of ended connections are in the postmaster's count."""
        parent = int((self.data / "postmaster.pid").read_text(encoding="ascii").split()[0])
        ticks, tick = 0, os.sysconf("SC_CLK_TCK")
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                fields = pathlib.Path(path).read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            if int(path.split("/")[2]) == parent:
                ticks += sum(map(int, fields[11:15]))
            elif int(fields[1]) == parent:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / tick

    def url(self, port=None, host="127.0.0.1", more=""):
        return f"postgres://mvi@{host}:{port or self.port}/postgres?connect_timeout=3{more}"
