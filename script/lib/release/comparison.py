"""Finds what a release breaks for users of the last one, from the surfaces of both: sets of lines (name, declaration).

A break has the part of the version that has to grow for it (`major`, `minor`; `never`: no version may have it) and a
sentence that says who is hit.
"""

import re
from collections import defaultdict
from typing import NamedTuple

import declarations


class Break(NamedTuple):
    needs: str
    name: str
    sentence: str


def compare(surface, old, new, version):
    """The breaks of a surface since `version`, in the order of their names."""
    if surface == "journals":
        return journals(dict(old), dict(new), version)
    before, after = by_name(old), by_name(new)
    marked = {name for name, declaration in old if declaration.startswith(MARK)}
    judge, needs = JUDGES[surface]
    found = []
    for name in sorted({*before, *after}):
        gone, come = before.get(name, set()) - after.get(name, set()), after.get(name, set()) - before.get(name, set())
        if sentence := (gone or come) and judge(name, gone, come, before, after):
            if name in after or gone <= UNMARKED or is_marked(name, marked):
                found.append(Break(needs, name, sentence.replace("{version}", version)))
            else:
                found.append(Break("never", name, sentence.replace("{version}", version) + " It was not deprecated."))
    return found


# What begins the declaration of something deprecated, and declarations that cannot be.
MARK, UNMARKED = "deprecated ", {"conformance", "case", "value", "status", "header", "event", "document"}


def is_marked(name, marked):
    """True if it was deprecated, or what it is part of."""
    return any(name == each or name.startswith(each) and not name[len(each)].isalnum() for each in marked)


def by_name(lines):
    found = defaultdict(set)
    for name, declaration in lines:
        found[name].add(declaration.removeprefix(MARK))
    return dict(found)


def one(declared):
    return ", ".join(sorted(declared))


# --- The contract -----------------------------------------------------------------------------------------------------
def contract(name, gone, come, before, after):
    """Clients over HTTP. ` > ` is what they send, ` < ` what they read."""
    operation = re.split(" [<>] ", name)[0]
    if operation not in after:
        return f"`{operation}` is gone: clients of {{version}} that send it are refused." if name == operation else None
    if operation not in before:
        return None
    if " > " in name:
        return asked(name, gone, come, before, after)
    if come == {"value"} and is_listed(name, before):
        return f"`{name}` is new: clients of {{version}} that switch over these values do not know it."
    # A member that was optional may be there always.
    if gone and gone != {"value"} and one(come) != one(gone).replace("optional", "required"):
        return f"`{name}` was '{one(gone)}', and is {now(come)}: clients of {{version}} that read it fail."
    return None


def asked(name, gone, come, before, after):
    if not gone:
        required = any(each.startswith("required") for each in come)
        # A member of something that is new itself is reported with that.
        return (
            required
            and is_known(name, before)
            and (f"`{name}` is required and new: clients of {{version}} do not send it and are refused.")
        )
    if not come:
        # All values of a list that is open now.
        if gone == {"value"} and not is_listed(name, after):
            return None
        return f"`{name}` is gone: clients of {{version}} that send it are refused or misunderstood."
    if one(come) != one(gone).replace("required", "optional"):
        return f"`{name}` was '{one(gone)}', and is {now(come)}: requests of clients of {{version}} are refused."
    return None


def now(come):
    return f"'{one(come)}'" if come else "gone"


def is_listed(name, lines):
    """True if the list of values has others: a list as such is not a new value."""
    stem = name.rpartition(" =")[0]
    return any(each.startswith(f"{stem} =") for each in lines)


def is_known(name, lines):
    parent = re.sub(r"(\.[^.\s]+|\[\]|\(\S+\))$", "", name)
    return parent == name or parent in lines


# --- Code -------------------------------------------------------------------------------------------------------------
def swift(name, gone, come, before, after):
    module, _, path = name.partition(" ")
    if not gone:
        return addition(path, module, come, before.get(f"{module} {path.rpartition('.')[0]}"))
    base = name.partition("(")[0]
    others = {each for key, each in declarations_of(base, after)}
    if all(any(extends(each, other) for other in others) for each in gone):
        return None
    if gone == {"conformance"}:
        return f"`{path}` ({module}) does not hold any more: code of {{version}} that needs it does not compile."
    what = f"is now `{one(come)}`" if come else "is gone"
    return f"`{path}` ({module}) {what}: code of {{version}} that uses it does not compile."


def declarations_of(base, lines):
    return [(key, each) for key in lines if key.partition("(")[0] == base for each in lines[key]]


def addition(path, module, come, parent):
    """What breaks by being there, if its type was there."""
    if not parent:
        return None
    owner = path.rpartition(".")[0]
    if any(each.startswith("requirement") for each in come):
        return (
            f"`{path}` ({module}) is a new requirement without a default: types of {{version}}'s users that conform to "
            f"`{owner}` do not compile."
        )
    if any(each.startswith(("case ", "indirect case ")) for each in come):
        return f"`{path}` ({module}) is a new case: switches over `{owner}` without a default do not compile."
    return None


def client(language, provided):
    """The judge of a client. `provided` are the types that apps make themselves."""

    def judge(name, gone, come, before, after):
        path, package = name.removeprefix("mvi.client."), "mvi.client."
        owner = name.rpartition(" " if come == {"case"} else ".")[0]
        if not gone:
            if come == {"case"} and before.get(owner):
                return (
                    f"`{path}` is a new case: apps in {language} that switch over `{owner.removeprefix(package)}` "
                    "miss it."
                )
            needed = any(
                each.startswith("requirement") or provided.search(owner) and "?" not in each.partition(":")[0]
                for each in come
            )
            if needed and before.get(owner):
                return (
                    f"`{path}` is a new member: apps in {language} that make a `{owner.removeprefix(package)}` "
                    "do not compile."
                )
            return None
        if all(any(extends(each, other) for other in after.get(name, ())) for each in gone):
            return None
        what = f"is now `{one(come)}`" if come else "is gone"
        return f"`{path}` {what}: apps in {language} of {{version}} that use it do not compile."

    return judge


def extends(old, new):
    """True if the new declaration accepts all uses of the old one: what it has more may be left out."""
    if old == new:
        return True
    kept = {each.strip() for each in re.findall(r"\w+\?: [^;{}]+", old)}
    new = re.sub(r"(\w+\?: [^;{}()]+?)(; | ?(?=\}))", lambda match: match[0] if match[1] in kept else "", new)
    old, new = re.sub(r"; \}", " }", old), re.sub(r"; \}", " }", new)
    # The first parentheses that are no attribute's.
    begin, other = re.search(r"(?<=[\w>`?])\(", old), re.search(r"(?<=[\w>`?])\(", new)
    if not begin or not other:
        return " ".join(old.split()) == " ".join(new.split())
    ends = declarations.end_of(old, begin.start()), declarations.end_of(new, other.start())
    if old[: begin.start()] != new[: other.start()] or old[ends[0] :] != new[ends[1] :]:
        return False
    parameters = [part.strip() for part in declarations.split(old[begin.end() : ends[0] - 1], ",")]
    for part in declarations.split(new[other.end() : ends[1] - 1], ","):
        if parameters and (part.strip() == parameters[0] or part.strip().split(" = ")[0] == parameters[0]):
            parameters.pop(0)
        elif " = " not in part and not re.match(r"\s*\w+\?:", part):
            return False
    return not parameters


# --- Operation --------------------------------------------------------------------------------------------------------
def commands(name, gone, come, before, after):
    del before, after
    if not gone:
        return None
    what = f"is now {one(come)}" if come else "is gone"
    return f"`{name}` was {one(gone)}, and {what}: units, scripts and configurations of {{version}} that rely on it."


def journals(old, new, version):
    found = []
    for journal in ("sqlite", "postgres"):
        number = f"{journal} schema"
        if number not in old or number not in new:
            continue
        before, after = int(old[number]), int(new[number])
        if after < before:
            found.append(
                Break(
                    "never",
                    number,
                    f"The schema of {journal} goes back from {before} to {after}: "
                    f"no journal of {version} can be opened.",
                )
            )
        if after > before:
            # Only PostgreSQL's schema says which programs may use it.
            stays = int(new.get(f"{journal} oldest", after)) <= before
            found.append(
                Break(
                    "minor",
                    number,
                    f"The schema of {journal} is {after}, and was {before}: journals go forward at the "
                    f"first start; programs of {version} {'go on' if stays else 'refuse them'} then.",
                )
            )
        # What a migration changes follows from it.
        for name in sorted({*old, *new} if after == before else ()):
            if name.startswith(f"{journal} ") and old.get(name) != new.get(name):
                found.append(
                    Break(
                        "never",
                        name,
                        f"`{name}` was {old.get(name, 'not there')}, and is {new.get(name, 'gone')}, "
                        f"without a migration: journals of {version} do not have it.",
                    )
                )
    return found


JUDGES = {
    "contract": (contract, "major"),
    "admin": (contract, "minor"),
    "swift": (swift, "minor"),
    "javascript": (client("JavaScript and TypeScript", re.compile("Options$|Storage$|^Platform$")), "minor"),
    "kotlin": (client("Kotlin", re.compile("^$")), "minor"),
    "commands": (commands, "minor"),
}
SURFACES = (*JUDGES, "journals")


# --- Versions ---------------------------------------------------------------------------------------------------------
def numbers(version):
    if not (match := re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", version)):
        raise ValueError(f"'{version}' is no version: expected one such as 0.1.0")
    return tuple(map(int, match.groups()))


def step(old, new):
    """The part that grows from one version to a later one."""
    for name, before, after in zip(("major", "minor", "patch"), numbers(old), numbers(new)):
        if after != before:
            if after < before:
                break
            return name
    raise ValueError(f"{new} is not later than {old}")


def allows(growing, needs, major):
    """True if this part of the version may break what needs `needs`. From 1.0 on, what needs a minor needs a major."""
    if needs == "minor" and major >= 1:
        needs = "major"
    return needs != "never" and ("major", "minor", "patch").index(growing) <= ("major", "minor").index(needs)


def is_told(name, section):
    """True if a section of the change log names it: by its last word, in code."""
    path = re.sub(r"[(\[].*|:.*| =.*", "", name.replace(" schema", ""))
    word = re.split(r"[\s./]+", path.strip(" ./{}"))[-1]
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", section) is not None


def section(changes, version):
    """The text of a version in the change log; nil if it is not there, has no date or is empty."""
    match = re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL
    )
    return match[1].strip() or None if match else None
