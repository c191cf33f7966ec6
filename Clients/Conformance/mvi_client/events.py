"""Reads `text/event-stream` in whatever pieces it arrives (WHATWG HTML 9.2.6)."""

from dataclasses import dataclass

MARK = b"\xef\xbb\xbf"


@dataclass
class Event:
    """One event: its type, its data lines joined by LF, and the last id as of it."""

    type: str
    data: str
    last_id: str


class EventParser:
    """A parser for one connection. `last_id` and `retry` (milliseconds) outlive it: hand them to the next one."""

    def __init__(self, last_id="", retry=None):
        self.last_id = last_id
        self.retry = retry
        self.rest = b""
        self.at_start = True
        self.skips_line_feed = False
        self.clear(last_id)

    def clear(self, last_id):
        self.type, self.id = "", last_id
        self.data = []

    def feed(self, piece):
        """Takes the next bytes and yields the events that they complete."""
        # Lines are cut as bytes and decoded whole, so a piece may end inside a character.
        if self.at_start:
            self.rest += piece
            if len(self.rest) < 3 and MARK.startswith(self.rest):
                return
            self.at_start = False
            piece = self.rest.removeprefix(MARK)
            self.rest = b""
        if self.skips_line_feed and piece:
            piece = piece.removeprefix(b"\n")
            self.skips_line_feed = False
        if piece.endswith(b"\r"):
            # The CR ends its line now; an LF that comes next belongs to it.
            self.skips_line_feed = True
        # A long line that comes in many pieces is looked through once.
        pieces = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        pieces[0] = self.rest + pieces[0]
        self.rest = pieces.pop()
        for line in pieces:
            if event := self.take(line.decode("utf-8", errors="replace")):
                yield event

    def take(self, line):
        """Takes one line; returns the event that it completes."""
        if not line:
            return self.dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self.data.append(value)
        elif name == "event":
            self.type = value
        elif name == "id":
            if "\0" not in value:
                self.id = value
        elif name == "retry":
            if value.isascii() and value.isdigit():
                # Python refuses to make a number of thousands of digits.
                self.retry = int(value[:20])
        return None

    def dispatch(self):
        # The id counts also where there is no data.
        self.last_id = self.id
        event = Event(self.type or "message", "\n".join(self.data), self.last_id) if self.data else None
        self.clear(self.last_id)
        return event
