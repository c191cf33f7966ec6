"""Holds what a server says against the schemas that it hands out: validate.py PORT INSTANCE...

Sends every example of an intent, and reads every state and label that comes of it until the store is disposed. Then sends
intents that the schema refuses, which the server has to refuse, too. Prints how much there was; ends with 1 and what was
found if something does not fit.
"""

import copy
import http.client
import json
import sys

from jsonschema import Draft202012Validator

port, instances = int(sys.argv[1]), sys.argv[2:]
findings = []
counts = {"features": 0, "intents": 0, "states": 0, "labels": 0, "refused": 0}


def ask(method, path, body=None, **fields):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json"} if body is not None else {}
    headers |= {name.replace("_", "-"): value for name, value in fields.items()}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, json.loads(text) if text else None


class Part:
    """One of the definitions of a feature's schema."""

    def __init__(self, schema, name):
        Draft202012Validator.check_schema(schema)
        self.name = f"{schema['title']}'s {name}"
        self.validator = Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})

    def takes(self, value):
        return self.validator.is_valid(value)

    def check(self, value, count):
        counts[count] += 1
        for error in self.validator.iter_errors(value):
            findings.append(f"{self.name} {json.dumps(value)}: {error.message}")


def events(path, fields, ready):
    """The events of a stream until one is `end`; calls `ready` after the first state."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers=fields)
    response = connection.getresponse()
    name = None
    for line in response:
        line = line.decode().rstrip("\n")
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            yield name, json.loads(line[6:])
            if name == "state" and ready:
                ready()
                ready = None
            if name == "end":
                break
    connection.close()


def wrong(intent):
    """Intents that are none."""
    yield {"type": "no such intent"}
    yield {name: value for name, value in intent.items() if name != "type"}
    for name, value in intent.items():
        if name == "type":
            continue
        yield {other: intent[other] for other in intent if other != name}
        for bad in [
                [], {"a": 1}, 7 if isinstance(value, bool) else True, 1.5 if not isinstance(value, float) else "a",
                7 if isinstance(value, str) else "a"]:
            changed = copy.deepcopy(intent)
            changed[name] = bad
            yield changed
    yield [intent]
    yield "increment"


def new_session():
    return {"Authorization": f"Bearer {ask('POST', '/sessions')[1]['token']}"}


fields = new_session()
for feature in ask("GET", "/features")[1]["features"]:
    counts["features"] += 1
    description = ask("GET", feature["links"]["self"])[1]
    schema = description["schema"]
    state, intent, label = (Part(schema, name) for name in ("State", "Intent", "Label"))
    whole = Draft202012Validator(schema)
    instance = feature["id"]
    if feature["keyed"]:
        instance = next(name for name in instances if name.startswith(instance + ":"))
    kinds = [kind["properties"]["type"]["const"] for kind in schema["$defs"]["Intent"]["oneOf"]]
    if kinds != [example["type"] for example in description["intents"]]:
        findings.append(f"{instance}: the schema has the intents {kinds}, the examples are others")
    for example in description["labels"]:
        label.check(example, "labels")

    def run():
        for example in description["intents"]:
            intent.check(example, "intents")
            status, answer = ask(
                "POST", f"/features/{instance}/intents", example, Prefer="return=representation, wait=10", **fields)
            if status != 200:
                findings.append(f"{instance} answered {status} to {example}: {answer}")
            state.check(answer, "states")
            if not whole.is_valid({"state": answer, "intent": example}):
                findings.append(f"{instance}: the feature's schema refuses {example} with {answer}")
        # A client may not dispose of a shared store; the stream ends with the session.
        ask("DELETE", "/sessions/current" if feature.get("shared") else f"/features/{instance}/state", **fields)

    for name, data in events(f"/features/{instance}/events", fields, run):
        if name == "state":
            state.check(data["state"], "states")
        elif name == "label":
            label.check(data["label"], "labels")
    if feature.get("shared"):
        fields = new_session()
    for example in description["intents"]:
        for bad in wrong(example):
            counts["refused"] += 1
            status, _ = ask("POST", f"/features/{instance}/intents", bad, **fields)
            if intent.takes(bad) or status != 422:
                findings.append(f"{intent.name} {json.dumps(bad)}: the server answers {status}, the schema takes it: {intent.takes(bad)}")
    if state.takes({}) or state.takes([]) or label.takes({"type": "no such label"}):
        findings.append(f"{instance}: the schema takes what is no state or label")

print(", ".join(f"{count} {name}" for name, count in counts.items()))
print("\n".join(findings))
sys.exit(1 if findings or 0 in counts.values() else 0)
