#!/usr/bin/env python3
"""Plants breaks into this tree's surfaces, and expects that each is found with a sentence that says who is hit; and
nothing where nothing breaks.

    planted.py [SERVER]     SERVER is a built mvi-server, for breaks of its features and its commands

Exit code: 0 all as expected, 1 otherwise.
"""

import copy
import json
import pathlib
import sqlite3
import sys
import tempfile

import comparison
import contract
import main
import surfaces
import yaml
from planted_code import ROOT, expect, failures, plant_clients, plant_swift


# --- The contract -----------------------------------------------------------------------------------------------------
def plant_contract():
    old = yaml.safe_load((ROOT / "openapi.yaml").read_text(encoding="utf-8"))

    def found(change, undo=None):
        before, after = copy.deepcopy(old), copy.deepcopy(old)
        change(after)
        if undo:
            undo(before)
        return comparison.compare("contract", contract.lines(before), contract.lines(after), "0.1.0")

    def schema(document, name):
        return document["components"]["schemas"][name]

    def member(name):
        return lambda document: schema(document, "IntentAccepted")["properties"].pop(name)

    def required(document):
        schema(document, "NewSession")["required"].remove("id")

    def asks(document, needed=True):
        document["paths"]["/sessions"]["post"]["parameters"].append(
            {"name": "MVI-Planted", "in": "header", "required": needed, "schema": {"type": "string"}}
        )

    def retyped(document):
        schema(document, "PingEvent")["properties"]["t"]["type"] = "string"

    def reason(document):
        schema(document, "GoAwayEvent")["properties"]["reason"]["enum"].append("planted")

    def gone(document):
        del document["paths"]["/diagnostics/request"]

    def deprecated(document):
        document["paths"]["/diagnostics/request"]["get"]["deprecated"] = True

    def shorter(document):
        schema(document, "SessionOrder")["properties"].pop("keep")

    def additions(document):
        document["paths"]["/planted"] = {"post": {"security": [{"bearer": []}], "responses": {"204": {}, "409": {}}}}
        schema(document, "HelloEvent")["properties"]["planted"] = {"type": "string"}
        schema(document, "HelloEvent").setdefault("required", []).append("planted")
        asks(document, needed=False)
        schema(document, "SessionOrder")["properties"]["planted"] = {"enum": ["a", "b"]}
        document["components"]["responses"]["Stream"]["content"]["text/event-stream"]["x-events"]["planted"] = {
            "type": "object"
        }

    expect(
        "a removed member",
        found(member("version")),
        "`POST /features/{id}/intents < 202 application/json.version`",
        "is gone: clients of 0.1.0 that read it fail",
    )
    answers = found(required)
    if len(answers) != 3 or not all("'optional string'" in each.sentence for each in answers):
        failures.append(f"a member that may be missing: {answers}")
    expect(
        "a required new parameter",
        found(asks),
        "`POST /sessions > header MVI-Planted` is required and new",
        "clients of 0.1.0 do not send it",
    )
    expect(
        "a parameter that becomes required",
        found(asks, lambda document: asks(document, needed=False)),
        "requests of clients of 0.1.0 are refused",
    )
    expect("another type", found(retyped), "`event ping < data.t` was 'required integer', and is 'required string'")
    expect("a new value", found(reason), "`event goaway < data.reason =planted` is new", "switch over these values")
    expect("a removed operation", found(gone), "`GET /diagnostics/request` is gone: clients of 0.1.0", "not deprecated")
    removals = [found(gone, undo)[0].needs for undo in (None, deprecated)]
    if removals != ["never", "major"] or found(deprecated):
        failures.append(f"a removed operation, and one that was deprecated: {removals}; marked: {found(deprecated)}")
    if {each.name for each in found(shorter)} != {
        "POST /sessions > application/json.keep",
        "PUT /sessions/current/identity > application/json.keep",
    }:
        failures.append(f"a removed member of requests: {found(shorter)}")
    expect("additions", found(additions))


# --- Journals ---------------------------------------------------------------------------------------------------------
def plant_journals():
    with tempfile.TemporaryDirectory() as folder:

        def journal(name, columns, number):
            path = pathlib.Path(folder) / name
            database = sqlite3.connect(path)
            database.executescript(
                f"CREATE TABLE stores (id INTEGER PRIMARY KEY, {columns}); PRAGMA user_version = {number}"
            )
            database.close()
            return surfaces.of_sqlite(path)

        def found(columns, number):
            return comparison.compare("journals", old, journal(f"{columns}{number}", columns, number), "0.1.0")

        old = journal("old", "state BLOB NOT NULL", 12)
        expect(
            "a changed column",
            found("state TEXT NOT NULL", 12),
            "`sqlite stores.state` was BLOB not null, and is TEXT not null",
            "journals of 0.1.0 do not have it",
        )
        expect(
            "a column without a migration",
            found("state BLOB NOT NULL, more TEXT", 12),
            "`sqlite stores.more` was not there",
        )
        expect(
            "a migration",
            found("state BLOB NOT NULL, more TEXT", 13),
            "The schema of sqlite is 13, and was 12",
            "programs of 0.1.0 refuse",
        )
        expect(
            "an older schema",
            found("state BLOB NOT NULL", 11),
            "goes back from 12 to 11: no journal of 0.1.0 can be opened",
        )
        expect("nothing", found("state BLOB NOT NULL", 12))
    lines = {("postgres schema", "19"), ("postgres oldest", "17")}
    expect(
        "an additive migration",
        comparison.compare("journals", lines, {("postgres schema", "20"), ("postgres oldest", "17")}, "0.1.0"),
        "programs of 0.1.0 go on",
    )


# --- Versions ---------------------------------------------------------------------------------------------------------
def plant_versions():
    allowed = [
        (growing, needs, major)
        for major in (0, 1)
        for growing in ("major", "minor", "patch")
        for needs in ("major", "minor", "never")
        if comparison.allows(growing, needs, major)
    ]
    if allowed != [
        ("major", "major", 0),
        ("major", "minor", 0),
        ("minor", "minor", 0),
        ("major", "major", 1),
        ("major", "minor", 1),
    ]:
        failures.append(f"what a version may break: {allowed}")
    if [comparison.step("0.1.9", each) for each in ("0.1.10", "0.2.0", "1.0.0")] != ["patch", "minor", "major"]:
        failures.append("the part that grows")
    changes = "## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\nRemoved: `Turn.publish`.\n\n## [0.1.0] - 2026-11-30\n"
    section = comparison.section(changes, "0.2.0")
    told = {
        name: comparison.is_told(name, section or "")
        for name in ("MVI Turn.publish(_:to:)", "MVI Turn.pub", "MVI Turn.value")
    }
    if (
        list(told.values()) != [True, False, False]
        or comparison.section(changes, "0.1.0")
        or comparison.section(changes, "Unreleased")
    ):
        failures.append(f"what the change log tells: {told}")


# --- A server ---------------------------------------------------------------------------------------------------------
def plant_features(server):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "features.json"
        text = surfaces.output(server, "schema")
        path.write_text(text, encoding="utf-8")
        expect("the same features", main.of_features(path, server, "0.1.0"))

        def found(change):
            older = json.loads(text)
            change({name: feature["$defs"] for name, feature in older.items()})
            path.write_text(json.dumps(older), encoding="utf-8")
            return main.of_features(path, server, "0.1.0")

        # What an earlier build had: a value less, a member more, an intent's member less.
        expect(
            "a new case in a view state",
            found(lambda types: types["video-list"]["LoadStatus"]["enum"].remove("loading")),
            "loading",
        )
        expect("a removed member of a state", found(lambda types: planted_member(types["counter"]["State"])), "planted")
        expect(
            "a required new member",
            found(lambda types: without_amount(types["counter"]["Intent"]["oneOf"][2])),
            "amount",
        )
    commands = set()
    surfaces.add_command({"abstract": "Deprecated: use doctor."}, "mvi-server top", commands)
    if commands != {("mvi-server top", "deprecated command")}:
        failures.append(f"a deprecated command: {commands}")
    surfaces.add_command(
        json.loads(surfaces.output(server, "--experimental-dump-help"))["command"], "mvi-server", commands
    )
    changed = {line for line in commands if line[0] != "mvi-server --grace"} | {("mvi-server --planted", "flag")}
    expect(
        "a removed flag",
        comparison.compare("commands", commands, changed, "0.1.0"),
        "`mvi-server --grace`",
        "units, scripts",
    )


def planted_member(state):
    state["properties"]["planted"] = {"type": "integer"}
    state["required"].append("planted")


def without_amount(intent):
    del intent["properties"]["amount"]
    intent["required"].remove("amount")


plant_contract()
plant_swift()
plant_clients()
plant_journals()
plant_versions()
if len(sys.argv) > 1:
    plant_features(sys.argv[1])
for each in failures:
    print(each)
sys.exit(1 if failures else 0)
