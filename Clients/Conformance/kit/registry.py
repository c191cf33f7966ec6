"""The scenarios, and the numbered rules of README.md."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

HOME = Path(__file__).resolve().parent.parent


@dataclass
class Scenario:
    """A script of a server that misbehaves, and the rules that it tests."""

    name: str
    rules: tuple
    summary: str
    play: Callable


SCENARIOS = {}


def scenario(*rules, name=None):
    """Registers a function as a scenario. Its name has dashes; its first line of documentation says what is expected."""
    def register(play):
        key = name or play.__name__.replace("_", "-")
        if key in SCENARIOS:
            raise ValueError(f"two scenarios are called {key}")
        SCENARIOS[key] = Scenario(key, rules, (play.__doc__ or "").strip().split("\n")[0], play)
        return play
    return register


def rules():
    """The numbered rules: number and text."""
    text = (HOME / "README.md").read_text(encoding="utf-8")
    return {int(number): sentence for number, sentence in re.findall(r"^(\d+)\. (.+)$", text, re.MULTILINE)}
