"""Waiting for a condition until a deadline."""

import time


class NotYet(Exception):
    """The page is being changed while it is looked at: look again."""


def until(what, probe, seconds=10):
    """Calls `probe` until it returns something true, and returns that.

    Raises AssertionError with `what` and the last result after `seconds`. `what` says what is waited for.
    """
    end = time.monotonic() + seconds
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
            raise AssertionError(f"after {seconds} s: {what} (last seen: {last!r})")
        # Between two looks, so that the browser gets the processor.
        time.sleep(0.02)
