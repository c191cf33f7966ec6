"""What a trial prints, and what it found wrong."""

import re
import sys
import time


class Failure(Exception):
    """The trial cannot go on."""


class Figures:
    """Lines of a name and a figure, and faults: promises that were broken."""

    def __init__(self):
        self.faults, self.kinds = 0, {}
        self.began = time.monotonic()

    def show(self, name, text):
        print(f"{name:34} {text}", flush=True)

    def fault(self, text):
        self.faults += 1
        # A broken promise is often broken a thousand times: the first three of a kind are shown, a kind being the text
        # without its numbers and ids.
        kind = re.sub(r"[0-9a-f]{32}|\b[a-z2-7]{13}\b|\d+", "#", text)
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if self.kinds[kind] <= 3:
            print(f"FAULT: {text}", flush=True)

    def end(self):
        """How often each kind of fault came that came more often than it was shown."""
        for kind, count in self.kinds.items():
            if count > 3:
                print(f"FAULT: {count} times in all: {kind}", flush=True)

    def none(self, name, found, examples=()):
        """A figure that has to be 0."""
        self.show(name, str(found))
        if found:
            self.fault(f"{name}: {found}, such as {str(list(examples)[:3])[:400]}" if examples else f"{name}: {found}")

    def note(self, text):
        """What happens meanwhile, for who watches."""
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}", file=sys.stderr, flush=True)


def quantile(values, part):
    """The value below which so great a part of the values is; 0 without values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def milliseconds(values):
    """Seconds as a line: median, 99 of 100, and the longest."""
    return (f"p50 {quantile(values, 0.5) * 1000:.1f} ms, p99 {quantile(values, 0.99) * 1000:.1f} ms, "
            f"longest {max(values, default=0):.2f} s, of {len(values)}")
