"""Counts what one warm intent passes in a debug build. Benchmarks/parts/road.bash starts it.

  road.py BINARY FEW MANY TIMES THRESHOLDS [--list TARGET | --write]

BINARY has its debug information; FEW and MANY are callgrind's files of a run with some intents and of one with TIMES more.
What is called once an intent or more often is on the road, and is counted for each of our targets: the files that it is in,
functions (closures are parts of theirs), types that have such functions, and takings of `Lock`.

Exit code: 0 within the thresholds, 1 beyond them.
"""

import collections
import pathlib
import re
import shutil
import subprocess
import sys

# What the compiler makes, or what is a part of something that is counted.
_PARTS = re.compile(
    r"outlined |thunk|witness|partial apply|metadata|default argument|specialization|merged |descriptor|closure #"
    r"|\$defer|unsafeMutableAddressor|enum case for|variable initialization|__allocating_init|__deallocating_deinit"
)
_COLUMNS = ("files", "functions", "types", "locks")
# The others are shown only: what a worker or the journal's writer does for one intent depends on when it wakes.
_HELD = ("MVI", "Sessions")


def _calls(path):
    """How often each function was called, and by which."""
    edges, caller, callee = collections.Counter(), "", ""
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("fn="):
                caller = line[3:].strip()
            elif line.startswith("cfn="):
                callee = line[4:].strip()
            elif line.startswith("calls="):
                edges[caller, callee] += int(line[6:].split()[0])
    return edges


def _run(*command, given):
    return subprocess.run(command, input="\n".join(given), capture_output=True, text=True, check=True).stdout.splitlines()


def _symbolizer():
    """Swift's toolchain has it, perhaps outside of the PATH."""
    return shutil.which("llvm-symbolizer") or str(pathlib.Path(shutil.which("swift")).resolve().parent / "llvm-symbolizer")


def _places(binary, names):
    """The file of each function that is in our sources, by the binary's symbols."""
    addresses = {}
    for line in subprocess.run(["nm", binary], capture_output=True, text=True, check=True).stdout.splitlines():
        parts = line.split()
        if len(parts) == 3 and parts[2] in names:
            addresses[parts[2]] = "0x" + parts[0]
    lines = _run(_symbolizer(), "--obj=" + binary, "--output-style=GNU", "-f=none", "--no-inlines", given=addresses.values())
    found = {}
    for name, line in zip(addresses, (line for line in lines if line), strict=True):
        file, _, number = line.rpartition(":")
        if "/.build" not in file and "/Sources/" in file and number != "0":
            found[name] = file.split("/Sources/", 1)[1]
    return found


def _count(binary, few, many, times):
    """By target: the sets of files, functions and types, and the number of locks."""
    edges = {edge: (count - few[edge]) / times for edge, count in many.items()}
    each = collections.Counter()
    for (_, callee), count in edges.items():
        each[callee] += count
    names = [name for name, count in each.items() if count >= 0.9]
    found = _places(binary, set(each))
    texts = dict(zip(each, _run("swift", "demangle", "--compact", given=each), strict=True))
    road = collections.defaultdict(lambda: {"files": set(), "functions": set(), "types": set(), "locks": 0})
    for name in names:
        if name not in found:
            continue
        target, text = found[name].split("/")[0], texts[name]
        road[target]["files"].add(found[name])
        if _PARTS.search(text):
            continue
        road[target]["functions"].add(text)
        kind = re.search(rf"\b{target}\.((?:[A-Z]\w*\.)*[A-Z]\w*)[.(]", text)
        if kind:
            road[target]["types"].add(kind.group(1))
    for (caller, callee), count in edges.items():
        if caller in found and texts[callee].startswith("Locking.Lock.withLock"):
            road[found[caller].split("/")[0]]["locks"] += count
    return road


def main():
    binary, few, many, times, thresholds = sys.argv[1:6]
    road = _count(binary, _calls(few), _calls(many), int(times))
    if "--list" in sys.argv:
        target = sys.argv[sys.argv.index("--list") + 1]
        for column in _COLUMNS[:3]:
            print(f"{column}:", *sorted(road[target][column]), sep="\n    ")
        return 0
    rows = {
        target: [round(value) if isinstance(value, float | int) else len(value) for value in counts.values()]
        for target, counts in sorted(road.items())
    }
    if "--write" in sys.argv:
        with open(thresholds, "w", encoding="utf-8") as file:
            file.write("# What one warm intent may pass: files, functions, types and takings of locks, by target; what was counted and a tenth more.\n")
            file.write("# Make the file anew with script/bench road --write, and say why.\n")
            for target, row in ((target, rows[target]) for target in _HELD):
                file.write(f"{target} {' '.join(str(-(-each * 11 // 10)) for each in row)}\n")
    with open(thresholds, encoding="utf-8") as file:
        most = {line.split()[0]: [int(each) for each in line.split()[1:]] for line in file if not line.startswith("#")}
    print(f"{'':20}" + "".join(f"{column:>12}" for column in _COLUMNS))
    faults = 0
    for target, row in rows.items():
        print(f"{target:20}" + "".join(f"{each:12}" for each in row))
        for column, each, limit in zip(_COLUMNS, row, most.get(target, row), strict=True):
            if each > limit:
                faults += 1
                print(f"FAULT: an intent passes {each} {column} of {target} and may pass {limit}; see Benchmarks/road/thresholds.txt", file=sys.stderr)
    return 1 if faults else 0


sys.exit(main())
