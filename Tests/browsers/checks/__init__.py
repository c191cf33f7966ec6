"""The checks, in the order in which they run."""

import importlib

_MODULES = ("features", "tabs", "tab_platform", "tab_sessions", "trouble", "sessions", "keyboard", "screen_reader", "layout", "inspector")


def all_checks():
    """Pairs of a sentence that is true when the check passes, and a function of a `Visit`."""
    found = []
    for module in _MODULES:
        found += importlib.import_module(f"checks.{module}").CHECKS.items()
    return found
