"""Runs scenarios, several at a time, and reports one line each."""

import asyncio
import traceback
from dataclasses import dataclass

from .driver import Driver
from .play import DRIVER_RULE, START_SECONDS, Broken, Play
from .registry import SCENARIOS, rules


@dataclass
class Result:
    """What became of one scenario. `rule` is the broken rule, or None; `seconds` is how long it took."""

    name: str
    seconds: float
    rule: int | None = None
    expected: str = ""
    seen: str = ""
    errors: str = ""
    is_kit_fault: bool = False

    @property
    def passed(self):
        return self.rule is None and not self.is_kit_fault


async def run_one(scenario, driver, patience):
    """Plays one scenario."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    play = Play(driver, patience)
    result = Result(scenario.name, 0)
    try:
        await asyncio.wait_for(scenario.play(play), SCENARIO_SECONDS)
        play.check(DRIVER_RULE, not play.driver.broken, "JSON lines with a member `saw`", play.driver.broken[:1])
        status = await play.driver.leave(START_SECONDS)
        play.check(DRIVER_RULE, status == 0, "the program ends with 0 after `close` and the end of its input",
                   "it goes on" if status is None else f"status {status}")
    except Broken as broken:
        result.rule, result.expected, result.seen = broken.rule, broken.expected, broken.seen
        if broken.rule not in scenario.rules and broken.rule not in COMMON_RULES:
            result.is_kit_fault = True
            result.seen += f" (the scenario does not name rule {broken.rule})"
        status = play.driver.status
        if status is not None and broken.rule != DRIVER_RULE:
            result.seen += f"; the driver ended with status {status}"
    except Exception:
        result.is_kit_fault, result.seen = True, traceback.format_exc()
    try:
        await play.stop()
    except Exception:
        result.is_kit_fault, result.seen = True, traceback.format_exc()
    result.errors = play.driver.errors.decode(errors="replace")
    result.seconds = loop.time() - start
    return result


# When a scenario counts as hung.
SCENARIO_SECONDS = 900

# The rules that any scenario may find broken: it needs a session, a stream, its first state and a driver that ends.
COMMON_RULES = (1, 18, 27, 36, DRIVER_RULE)


async def run_all(names, command, patience, at_once, report, reuse=False):
    """Runs scenarios, the slow ones first, and calls `report` with each result.

    With `reuse`, a program runs several, one after the other.
    """
    gate = asyncio.Semaphore(at_once)
    idle = [] if reuse else None

    async def one(name):
        async with gate:
            result = await run_one(SCENARIOS[name], Driver(command, idle), patience)
        report(result)
        return result

    results = await asyncio.gather(*(one(name) for name in names))
    for process in idle or []:
        process.stdin.close()
        try:
            status = await asyncio.wait_for(process.wait(), START_SECONDS)
        except asyncio.TimeoutError:
            process.kill()
            status = await process.wait()
        if status != 0:
            results.append(Result("the end of the input", 0, DRIVER_RULE, "the program ends with 0", f"status {status}"))
            report(results[-1])
    return results


def line(result):
    """The line of a result for people."""
    if result.passed:
        return f"pass  {result.name} ({result.seconds:.1f} s)"
    if result.is_kit_fault:
        return f"FAULT OF THE KIT  {result.name}: {result.seen}"
    return (f"FAIL  {result.name}: expected {result.expected}; seen {result.seen}. "
            f"Rule {result.rule}: {rules().get(result.rule, '')}")
