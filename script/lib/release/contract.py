"""An OpenAPI document as lines: what clients send (`>`), and what they read (`<`)."""

import re

import yaml


def read(path):
    with open(path, encoding="utf-8") as file:
        return lines(yaml.safe_load(file))


def lines(document):
    found = set()
    for path, operations in document["paths"].items():
        # HEAD is as GET, and OPTIONS lists the methods.
        for method in {"get", "post", "put", "patch", "delete"} & set(operations):
            operation = operations[method]
            shared = operations.get("parameters", []) + operation.get("parameters", [])
            operation_lines(document, f"{method.upper()} {path}", {**operation, "parameters": shared}, found)
    events = document.get("components", {}).get("responses", {}).get("Stream", {}).get("content", {})
    for name, schema in events.get("text/event-stream", {}).get("x-events", {}).items():
        found.add((f"event {name}", "event"))
        schema_lines(document, schema, f"event {name} < data", True, found)
    if problem := document.get("components", {}).get("schemas", {}).get("Problem"):
        found.add(("problem", "document"))
        schema_lines(document, problem, "problem < json", True, found)
    return found


def operation_lines(document, name, operation, found):
    found.add((name, "deprecated operation" if operation.get("deprecated") else "operation"))
    if operation.get("security"):
        found.add((f"{name} > credential", "required"))
    for parameter in operation["parameters"]:
        parameter = resolved(document, parameter)
        if parameter["in"] != "path":
            key = f"{name} > {parameter['in']} {parameter['name']}"
            schema = {**parameter.get("schema", {}), "deprecated": parameter.get("deprecated", False)}
            schema_lines(document, schema, key, parameter.get("required", False), found)
    body = resolved(document, operation.get("requestBody", {}))
    for kind, media in body.get("content", {}).items():
        schema_lines(document, media.get("schema", {}), f"{name} > {kind}", body.get("required", False), found)
    for status, answer in operation.get("responses", {}).items():
        answer, key = resolved(document, answer), f"{name} < {status}"
        # A refusal may have any status of its class. The members of problems are listed once.
        if not re.fullmatch("[123]..", status):
            continue
        found.add((key, "status"))
        for header in answer.get("headers", {}):
            found.add((f"{key} header {header}", "header"))
        for kind, media in answer.get("content", {}).items():
            schema_lines(document, media.get("schema", {}), f"{key} {kind}", True, found)


def resolved(document, node):
    """The node without `$ref` and `allOf`; members beside them win."""
    if not isinstance(node, dict):
        return {}
    parts = list(node.get("allOf", []))
    if "$ref" in node:
        target = document
        for step in node["$ref"].removeprefix("#/").split("/"):
            target = target[step.replace("~1", "/").replace("~0", "~")]
        parts.insert(0, target)
    if not parts:
        return node
    merged = {}
    for part in [resolved(document, each) for each in parts] + [
        {name: value for name, value in node.items() if name not in ("allOf", "$ref")}
    ]:
        for name, value in part.items():
            if name == "properties":
                merged[name] = {**merged.get(name, {}), **value}
            elif name == "required" and isinstance(value, list):
                merged[name] = [*merged.get(name, []), *value]
            else:
                merged[name] = value
    return merged


def schema_lines(document, schema, key, required, found, inside=()):
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    schema = resolved(document, schema)
    kind = schema.get("type", "any")
    kind = "|".join(sorted(kind)) if isinstance(kind, list) else kind
    mark = schema.get("deprecated") and "deprecated"
    need = "required" if required else "optional"
    found.add((key, " ".join(filter(None, (mark, need, kind, schema.get("format"))))))
    if reference in inside:
        return
    inside = (*inside, reference) if reference else inside
    values = [schema["const"]] if "const" in schema else schema.get("enum", [])
    for value in values:
        found.add((f"{key} ={value}", "value"))
    for place, branch in enumerate(schema.get("oneOf", []) + schema.get("anyOf", [])):
        name = resolved(document, branch).get("title", place)
        schema_lines(document, branch, f"{key}({name})", True, found, inside)
    for name, member in schema.get("properties", {}).items():
        schema_lines(document, member, f"{key}.{name}", name in schema.get("required", []), found, inside)
    for word, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(word), dict):
            schema_lines(document, schema[word], key + mark, False, found, inside)
