#!/usr/bin/env python3
"""The checks of script/release.

    main.py record VERSION BUILD     writes the surfaces of this tree into releases/VERSION
    main.py check VERSION BUILD      checks the version's places, its part of CHANGELOG.md, its record, and what breaks
    main.py sources                  only what the sources alone show to break the contract, for script/check

BUILD is the folder of a debug build. Exit code: 0 nothing found, 1 otherwise.
"""

import re
import subprocess
import sys

import comparison
import surfaces

ROOT = surfaces.ROOT
# Where the version stands, with the text around it.
PLACES = {
    "Sources/MVIServer/App/ServerVersion.swift": 'number = "{}"',
    "Clients/JavaScript/package.json": '"version": "{}"',
    "Clients/Kotlin/build.gradle.kts": 'version = "{}"\n',
    "openapi.yaml": "\n  version: {}\n",
    "openapi-admin.yaml": "\n  version: {}\n",
}


def main(command, *arguments):
    findings = {"record": record, "check": check, "sources": sources}[command](*arguments)
    for each in findings:
        print(each)
    sys.exit(1 if findings else 0)


def releases(before=None):
    """The recorded versions, in order; only those before a version."""
    found = sorted((each.name for each in (ROOT / "releases").glob("*.*.*")), key=comparison.numbers)
    return [each for each in found if not before or comparison.numbers(each) < comparison.numbers(before)]


def record(version, build):
    comparison.numbers(version)
    folder = ROOT / "releases" / version
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts(build).items():
        (folder / name).write_text(text, encoding="utf-8")
    return []


def texts(build):
    built, features = surfaces.of_build(build)
    found = {f"{name}.txt": surfaces.written(lines) for name, lines in {**surfaces.of_sources(), **built}.items()}
    return {**found, "features.json": features}


def check(version, build):
    findings = [
        f"{path} is not of version {version}"
        for path, text in PLACES.items()
        if text.format(version) not in (ROOT / path).read_text(encoding="utf-8")
    ]
    told = comparison.section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if not told:
        findings.append(f"CHANGELOG.md has no section '## [{version}] - YEAR-MONTH-DAY' with a text")
    new = texts(build)
    folder = ROOT / "releases" / version
    findings += [
        f"releases/{version}/{name} is not what this tree has: script/release {version} --record"
        for name, text in new.items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text
    ]
    if not (earlier := releases(before=version)):
        print("No release before it: nothing is compared.")
        return findings
    last = earlier[-1]
    growing = comparison.step(last, version)
    for each in breaks(last, new, build):
        allowed = comparison.allows(growing, each.needs, comparison.numbers(version)[0])
        if allowed and comparison.is_told(each.name, told or ""):
            print(f"told: {each.sentence}")
        elif allowed:
            findings.append(f"{each.sentence} CHANGELOG.md does not name it.")
        else:
            findings.append(f"{each.sentence} A {growing} version must not break it.")
    return findings


def breaks(last, new, build):
    folder, found = ROOT / "releases" / last, []
    for name in comparison.SURFACES:
        old = surfaces.read(folder / f"{name}.txt")
        found += comparison.compare(name, old, surfaces.parsed(new[f"{name}.txt"]), last)
    return found + of_features(folder / "features.json", f"{build}/mvi-server", last)


def of_features(old, server, last):
    """What `types --check` finds against the schema of an earlier build."""
    result = subprocess.run([server, "types", "--check", old], capture_output=True, text=True, check=False)
    if result.returncode not in (0, 1) or result.stderr:
        raise SystemExit(f"types --check: {result.stderr}")
    lines = result.stdout.splitlines() if result.returncode == 1 else []
    return [
        comparison.Break("minor", re.split(r"[: ]", line)[0], f"{line}: installed apps of {last}'s features.")
        for line in lines
    ]


def sources():
    """Before a release nobody else sees it: the contract must not break at any change."""
    if not (versions := releases()):
        return []
    old = surfaces.read(ROOT / "releases" / versions[-1] / "contract.txt")
    new = surfaces.of_sources()["contract"]
    return [each.sentence for each in comparison.compare("contract", old, new, versions[-1])]


if __name__ == "__main__":
    main(*sys.argv[1:])
