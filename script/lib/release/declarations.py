"""The public declarations of the clients in JavaScript (`.d.ts`) and Kotlin as lines, read from their sources."""

import re

OPENING, CLOSING = "([{", ")]}"
KOTLIN = re.compile(
    r"\s*((?:@\w+(?:\([^)]*\))?\s+)*)((?:\w+\s+)*?)(class|(?:fun )?interface|object|fun|val|var|typealias)\b(?!\s*=)"
)


def without_comments(text):
    text = re.sub(
        r"/\*.*?\*/", lambda match: "deprecated " if "@deprecated" in match[0] else "", text, flags=re.DOTALL
    )
    return re.sub(r"(^|\s)//[^\n]*", r"\1", text)


def plain(text):
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r",? ?([)\]>])", r"\1", re.sub(r"([(\[]) ", r"\1", text))


def end_of(text, start):
    """The place after the bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        if text[place] in OPENING:
            depth += 1
        elif text[place] in CLOSING:
            depth -= 1
            if depth == 0:
                return place + 1
    raise ValueError(f"'{text[start]}' is not closed: {text[start:start + 60]!r}")


def split(text, separator):
    """The parts of a text between separators that stand in no brackets. `=>` and `->` close none."""
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        if letter in OPENING or letter == "<":
            depth += 1
        elif letter in CLOSING or letter == ">" and text[place - 1] not in "=-":
            depth -= 1
        elif letter == separator and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    return [part for part in parts + [text[begin:]] if part.strip()]


def typescript(text):
    text, found = without_comments(text), set()
    for match in re.finditer(r"^export (?:declare )?(interface|class|type|function) (\w+)", text, re.MULTILINE):
        kind, name = match.groups()
        mark = "deprecated " if text[: match.start()].rstrip().endswith("deprecated") else ""
        if kind in ("interface", "class"):
            begin = text.index("{\n", match.end())
            found.add((name, mark + plain(text[match.start(1) : begin])))
            for member in split(text[begin + 1 : end_of(text, begin) - 1], ";"):
                member = plain(member)
                label = re.match(r"(?:deprecated )?(?:readonly )?(\[?\w+)", member)[1].replace("[", "[member]")
                found.add((f"{name}.{label}", member))
            continue
        declaration = plain(split(text[match.start(1) :], ";")[0])
        cases = [plain(case).removeprefix("deprecated ") for case in split(declaration.partition("=")[2], "|")]
        if kind == "type" and all(re.fullmatch(r'"[^"]*"', case) for case in cases):
            found.add((name, f"{mark}type {name}"))
            found |= {(f"{name} {case}", "case") for case in cases}
        else:
            found.add((name, mark + declaration))
    return found


def kotlin(text):
    text, found = without_comments(text), set()
    package = re.search(r"^package (\S+)", text, re.MULTILINE)[1]
    scope(text, package, "", found)
    return found


def scope(text, outer, kind, found):
    """The declarations at the beginning of lines that are in no brackets."""
    if kind == "enum":
        cases, _, text = text.partition(";")
        for case in split(cases, ","):
            if name := re.match(r"\s*(?:@\S+\s+)*(\w+)", case):
                found.add((f"{outer} {name[1]}", "case"))
    place = 0
    while place < len(text):
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        if match := KOTLIN.match(text, place):
            place = declaration(text, match, outer, kind, found)
        else:
            place = skipped(text, place, end)


def skipped(text, place, end):
    """The place after a line and all brackets that it opens."""
    while place < min(end, len(text)):
        if text[place] in OPENING:
            place = end_of(text, place)
            end = max(end, text.find("\n", place) if "\n" in text[place:] else len(text))
        else:
            place += 1
    return place + 1


def declaration(text, match, outer, kind, found):
    """Adds a declaration. Returns the place after it."""
    modifiers, word = match[2].split(), match[3].removeprefix("fun ")
    place, begin = match.end(), match.start(2)
    opens = word in ("class", "interface", "object")
    # A head ends at its body, at `=`, or with its line.
    while place < len(text):
        if text[place] in "([":
            place = end_of(text, place)
        elif text[place] in "{=" or text.startswith(" by ", place):
            break
        elif text[place] == "\n" and not re.match(r"\s*[:{,]", text[place:]) and text[place - 1] not in ",:":
            break
        else:
            place += 1
    head, body = plain(text[begin:place]), ""
    if opens and text[place : place + 1] == "{":
        body, place = text[place + 1 : end_of(text, place) - 1], end_of(text, place)
    else:
        end = text.find("\n", place)
        place = skipped(text, place, len(text) if end < 0 else end)
    if {"private", "internal", "protected"} & set(modifiers):
        return place
    name = re.match(r"(?:\s*<[^(]*?>)?\s*(?:[\w<>?, ]+\.)?(\w+)", text[match.end() :])
    name = name[1] if name and not head.endswith("object") else "Companion"
    key = f"{outer}.{name}"
    head = with_short_defaults(head)
    abstract = kind == "interface" and not opens and not re.match(r"\s*(?:=|\{|get\()", text[match.end() + len(head) :])
    mark = "deprecated " if "@Deprecated" in match[1] else ""
    need = "requirement " if abstract and "{" not in text[begin:place] and "=" not in head else ""
    found.add((key, mark + need + head))
    if opens:
        inner = "enum" if "enum" in modifiers else "sealed" if "sealed" in modifiers else word
        properties(head, key, found)
        scope(body, key, inner, found)
        if kind == "sealed":
            found.add((f"{outer} {name}", "case"))
    return place


def with_short_defaults(head):
    """A head that says which parameters have defaults, but not what these are."""
    begin = head.find("(")
    if begin < 0:
        return head
    end = end_of(head, begin)
    parameters = [re.sub(r" = .*", " = …", part.strip()) for part in split(head[begin + 1 : end - 1], ",")]
    return f"{head[:begin]}({', '.join(parameters)}){head[end:]}"


def properties(head, key, found):
    """The properties that a constructor declares."""
    for parameter in split(head.partition("(")[2].rpartition(")")[0], ","):
        if match := re.match(r"\s*(?:override )?(val|var) (\w+): ([^=]+)", parameter):
            found.add((f"{key}.{match[2]}", f"{match[1]} {match[2]}: {match[3].strip()}"))
