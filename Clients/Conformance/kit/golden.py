"""The golden files: bytes, and what a parser makes of them."""

import json
from dataclasses import dataclass

from .registry import HOME


@dataclass
class ParserCase:
    """`events` are (type, data, last id); `last_id` and `retry` are what is known at the end of the bytes."""

    name: str
    bytes: bytes
    events: list
    last_id: str
    retry: int | None


def parser_cases():
    """The cases of `golden/parser`, in the order of their names."""
    cases = []
    for file in sorted((HOME / "golden" / "parser").glob("*.json")):
        wanted = json.loads(file.read_text(encoding="utf-8"))
        events = [(event["type"], event["data"], event["lastID"]) for event in wanted["events"]]
        cases.append(ParserCase(file.stem, file.with_suffix(".bytes").read_bytes(), events, wanted["lastID"], wanted["retry"]))
    return cases


def faults_of_parser(make):
    """Holds a parser to all cases, whole, byte by byte and cut in two; returns the names of those that fail.

    `make` returns a parser with `feed(bytes)`, `last_id` and `retry`, whose events have `type`, `data` and `last_id`.
    """
    failed = []
    for case in parser_cases():
        count = len(case.bytes)
        cuts = [[case.bytes], [case.bytes[at:at + 1] for at in range(count)]]
        cuts += [[case.bytes[:at], b"", case.bytes[at:]] for at in range(1, count)]
        for pieces in cuts:
            parser = make()
            events = [event for piece in pieces for event in parser.feed(piece)]
            seen = [(event.type, event.data, event.last_id) for event in events]
            if (seen, parser.last_id, parser.retry) != (case.events, case.last_id, case.retry):
                failed.append(f"{case.name}: {seen}, last id {parser.last_id!r}, retry {parser.retry}; pieces {pieces[:3]}")
                break
    return failed
