"""Waiting for a condition until a deadline."""

import time


class NotYet(Exception):
    """The page is being changed while it is looked at: look again."""


# A browser that does not respond for so long hangs; a busy machine takes less. In seconds.
HANG = 120


def until(what, probe):
    """Calls `probe` until it returns something true, and returns that.

    Raises AssertionError with `what` and the last result after `HANG`. `what` says what is waited for.
    """
    end = time.monotonic() + HANG
    last = None
    while True:
        try:
            last = probe()
        except NotYet as reason:
            last = f"not yet: {reason}"
        else:
            if last:
                return last
        if time.monotonic() > end:
            raise AssertionError(f"after {HANG} s: {what} (last seen: {last!r})")
        # Between two looks, so that the browser gets the processor.
        time.sleep(0.02)
