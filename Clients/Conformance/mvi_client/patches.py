"""JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7396). Both leave the document that they are given as it is."""

import copy
import re

INDEX = re.compile(r"0|[1-9][0-9]{0,9}")


class PatchError(Exception):
    """The patch cannot be applied as a whole."""


def merge(target, patch):
    """RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


def steps_of(pointer):
    """RFC 6901. `~1` is undone before `~0`, or `~01` would become a slash."""
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise PatchError("no JSON Pointer")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def index_of(step, count):
    if not INDEX.fullmatch(step) or int(step) >= count:
        raise PatchError(f"no index {step}")
    return int(step)


def child(value, step):
    if isinstance(value, list):
        return value[index_of(step, len(value))]
    if isinstance(value, dict) and step in value:
        return value[step]
    raise PatchError(f"nothing at {step}")


def find(document, steps):
    for step in steps:
        document = child(document, step)
    return document


def add(document, steps, value):
    if not steps:
        return value
    parent, last = find(document, steps[:-1]), steps[-1]
    if isinstance(parent, list):
        parent.insert(len(parent) if last == "-" else index_of(last, len(parent) + 1), value)
    elif isinstance(parent, dict):
        parent[last] = value
    else:
        raise PatchError(f"nothing can be added at {last}")
    return document


def remove(document, steps):
    if not steps:
        raise PatchError("the whole document cannot be removed")
    parent, last = find(document, steps[:-1]), steps[-1]
    child(parent, last)
    del parent[int(last) if isinstance(parent, list) else last]
    return document


def equal(one, other):
    """Equality of JSON: in Python True equals 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[name], other[name]) for name in one)
    return one == other


def apply(document, patch):
    """RFC 6902. Raises PatchError if any operation fails."""
    if not isinstance(patch, list):
        raise PatchError("a JSON Patch is an array")
    document = copy.deepcopy(document)
    for operation in patch:
        try:
            document = apply_one(document, operation)
        except (KeyError, TypeError, AttributeError) as error:
            raise PatchError(f"no operation: {error}") from error
    return document


def apply_one(document, operation):
    steps = steps_of(operation["path"])
    match operation["op"]:
        case "add":
            return add(document, steps, copy.deepcopy(operation["value"]))
        case "remove":
            return remove(document, steps)
        case "replace":
            value = copy.deepcopy(operation["value"])
            find(document, steps)
            return add(remove(document, steps), steps, value) if steps else value
        case "move":
            start = steps_of(operation["from"])
            if steps[:len(start)] == start and len(steps) > len(start):
                raise PatchError("nothing can be moved into itself")
            value = find(document, start)
            return add(remove(document, start) if start else document, steps, value)
        case "copy":
            return add(document, steps, copy.deepcopy(find(document, steps_of(operation["from"]))))
        case "test":
            if not equal(find(document, steps), operation["value"]):
                raise PatchError("a test failed")
            return document
    raise PatchError(f"unknown operation {operation['op']}")
