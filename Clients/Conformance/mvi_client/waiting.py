"""How long to wait after a failure."""

import random
import time
from email.utils import parsedate_to_datetime

LONGEST = 30.0
LONGEST_ASKED = 300.0
# Bounds the tries of a second, whatever the server says.
SHORTEST = 0.1


class Backoff:
    """Counts failures in a row and says how long to wait. `base` is in seconds."""

    def __init__(self, base=3.0):
        self.base = base
        self.attempts = 0

    def reset(self):
        self.attempts = 0

    def next(self, answer=None):
        """The wait after one more failure, in seconds; never shorter than the answer's Retry-After."""
        whole = min(LONGEST, self.base * 2 ** min(self.attempts, 30))
        self.attempts += 1
        return max(SHORTEST, whole * random.uniform(0.5, 1), asked(answer))


def asked(answer):
    """The Retry-After of an answer in seconds, at most five minutes; 0 without one that can be read."""
    text = answer.headers.get("retry-after", "") if answer is not None else ""
    if text.isascii() and text.isdigit():
        return min(LONGEST_ASKED, float(text[:20]))
    try:
        return min(LONGEST_ASKED, max(0.0, parsedate_to_datetime(text).timestamp() - time.time()))
    except (TypeError, ValueError):
        return 0.0


def soon(milliseconds):
    """The wait after goaway, in seconds."""
    return max(SHORTEST, min(LONGEST_ASKED, milliseconds / 1000) * random.uniform(0.8, 1.2))
