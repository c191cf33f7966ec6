"""The surfaces of this tree: what others build upon, as lines `name<tab>declaration`.

One text file each, in releases/VERSION. Those of Swift, the commands, the features and the journals need a debug build.
"""

import asyncio
import json
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import types

import contract
import declarations
import symbols

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "Trials" / "nodes"))

# pylint: disable=wrong-import-position
from world import run_in_world  # noqa: E402

# The name of a partition has its day.
TABLES = """
    SELECT c.relname || '.' || a.attname,
        format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'mvi'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0
        AND NOT a.attisdropped"""


def of_sources(root=ROOT):
    """The surfaces that need no build."""
    kotlin = set()
    for path in sorted((root / "Clients/Kotlin/src/main/kotlin").rglob("*.kt")):
        kotlin |= declarations.kotlin(path.read_text(encoding="utf-8"))
    return {
        "contract": contract.read(root / "openapi.yaml"),
        "admin": contract.read(root / "openapi-admin.yaml"),
        "javascript": declarations.typescript(
            (root / "Clients/JavaScript/mvi-client.d.ts").read_text(encoding="utf-8")
        ),
        "kotlin": kotlin,
    }


def of_build(build):
    """The surfaces of a debug build in this folder, and the features' schema as text."""
    manifest = json.loads(output("swift", "package", "dump-package"))
    modules = sorted(each["name"] for each in manifest["products"] if "library" in each["type"])
    with tempfile.TemporaryDirectory() as folder:
        swift = symbols.read(modules, build, folder)
    commands = set()
    for program in ("mvi-server", "mvi-tools"):
        add_command(json.loads(output(f"{build}/{program}", "--experimental-dump-help"))["command"], program, commands)
    found = {"swift": swift, "commands": commands, "journals": journals(f"{build}/mvi-server")}
    return found, output(f"{build}/mvi-server", "schema")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def add_command(command, name, found):
    found.add((name, mark_of(command) + "command"))
    for argument in command.get("arguments", []):
        word = argument.get("preferredName", {})
        label = f"--{word['name']}" if word.get("kind") == "long" else f"<{argument['valueName']}>"
        # Its variable and its default.
        given = re.search(r"\[([^\]]*)\]$", argument.get("abstract", ""))
        text = " ".join(
            filter(
                None,
                (
                    argument["kind"],
                    given and given[1],
                    f"default: {argument['defaultValue']}" if "defaultValue" in argument else None,
                ),
            )
        )
        found.add((f"{name} {label}", mark_of(argument) + text))
    for each in command.get("subcommands", []):
        if each["commandName"] != "help":
            add_command(each, f"{name} {each['commandName']}", found)


def mark_of(described):
    return "deprecated " if described.get("abstract", "").startswith("Deprecated") else ""


def journals(server):
    """Number and columns of the schemas, from journals that the server made."""
    found = set()

    async def run(world):
        node = await world.node("sqlite", "sqlite").start()
        node.signal(15)
        await node.ended(60)
        found.update(of_sqlite(node.folder / "journal.sqlite"))
        database = await world.database()
        await world.node("postgres", database.url()).start()
        ((number, oldest),) = await database.sql("SELECT version, minimum FROM mvi.meta")
        found.update({("postgres schema", number), ("postgres oldest", oldest)})
        found.update((f"postgres {name}", declared) for name, declared in await database.sql(TABLES))

    options = types.SimpleNamespace(server=str(pathlib.Path(server).absolute()), keep=False, length=0, short=True)
    if code := asyncio.run(run_in_world(run, options)):
        raise SystemExit(code)
    return found


def of_sqlite(path):
    database = sqlite3.connect(path)
    found = {("sqlite schema", str(database.execute("PRAGMA user_version").fetchone()[0]))}
    for (table,) in database.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall():
        for _, column, kind, needed, _, key in database.execute(f"PRAGMA table_info({table})"):
            declared = " ".join(filter(None, (kind, "not null" if needed else "", "key" if key else "")))
            found.add((f"sqlite {table}.{column}", declared))
    database.close()
    return found


def written(lines):
    return "".join(f"{name}\t{declaration}\n" for name, declaration in sorted(lines))


def parsed(text):
    return {tuple(line.split("\t", 1)) for line in text.splitlines()}


def read(path):
    return parsed(path.read_text(encoding="utf-8"))
