"""The scripts that tabs run in a page."""

import pathlib

_LOOKUP = (pathlib.Path(__file__).parent.parent / "lookup.js").read_text(encoding="utf-8").split("\n(", 1)[1]

# Pages keep their errors here: for browsers that tell no log, and for what a log leaves out.
HOOK = """() => {
  if (window.keptErrors) return;
  window.keptErrors = [];
  addEventListener("error", (event) => keptErrors.push(`error: ${event.message}`));
  addEventListener("unhandledrejection", (event) => keptErrors.push(`unhandled: ${event.reason}`));
  const write = console.error;
  console.error = (...words) => { keptErrors.push(`console.error: ${words.join(" ")}`); write(...words); };
}"""


def stringified(function):
    """An asynchronous function's source whose result is JSON."""
    return f"(async (...given) => JSON.stringify((await ({function})(...given)) ?? null))"


def with_lookup(function):
    """A function's source in which `look` has what lookup.js gives."""
    return f"(...given) => {{ const look = ({_LOOKUP.strip()}; return ({function})(...given); }}"
