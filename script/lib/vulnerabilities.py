#!/usr/bin/env python3
"""Looks for the packages of Package.versions in an export of OSV's database of known vulnerabilities.

    script/lib/vulnerabilities.py EXPORT     a record, a folder of records, or a zip of them, as JSON

The export for Swift is https://osv-vulnerabilities.storage.googleapis.com/SwiftURL/all.zip. Ends with 1 if a package's
version is affected. It knows what the export knows: an old one knows nothing of newer faults, and few of the packages' faults
are entered there at all.
"""

import json
import pathlib
import sys
import zipfile

ROOT = pathlib.Path(__file__).parents[2]


def packages():
    """The packages' names as OSV writes them (the address without its scheme), with their versions."""
    resolved = json.loads((ROOT / "Package.resolved").read_text(encoding="utf-8"))["pins"]
    names = {pin["identity"]: pin["location"].removeprefix("https://").removesuffix(".git").lower() for pin in resolved}
    lines = (ROOT / "Package.versions").read_text(encoding="utf-8").splitlines()
    given = (line.split() for line in lines if not line.startswith("#"))
    return {names[identity]: version for identity, version, *_ in given}


def records(path):
    if path.is_dir():
        texts = (file.read_bytes() for file in sorted(path.glob("**/*.json")))
    elif zipfile.is_zipfile(path):
        archive = zipfile.ZipFile(path)
        texts = (archive.read(name) for name in archive.namelist() if name.endswith(".json"))
    else:
        texts = [path.read_bytes()]
    for text in texts:
        yield json.loads(text)


def order(version):
    """By semver.org's rules as far as releases need them; a version before a release comes before it."""
    plain, _, before = version.partition("+")[0].partition("-")
    numbers = [int(part) if part.isdigit() else 0 for part in plain.split(".")]
    return numbers + [0] * (4 - len(numbers)), not before, before


def affects(affected, version):
    if version in affected.get("versions", []):
        return True
    for span in affected.get("ranges", []):
        if span.get("type") not in ("SEMVER", "ECOSYSTEM"):
            continue
        is_in = False
        # Those of one version in this order: it is introduced, then fixed.
        for event in sorted(span["events"], key=lambda event: order(next(iter(event.values())))):
            kind, bound = next(iter(event.items()))
            if kind == "introduced" and order(version) >= order(bound):
                is_in = True
            elif kind == "fixed" and order(version) >= order(bound):
                is_in = False
            elif kind == "last_affected" and order(version) > order(bound):
                is_in = False
        if is_in:
            return True
    return False


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    known, count, found = packages(), 0, []
    for record in records(pathlib.Path(sys.argv[1])):
        count += 1
        if record.get("withdrawn"):
            continue
        for affected in record.get("affected", []):
            package = affected.get("package", {})
            name = package.get("name", "").removeprefix("https://").removesuffix(".git").lower()
            if package.get("ecosystem") == "SwiftURL" and name in known and affects(affected, known[name]):
                found.append(f"{name} {known[name]}: {record['id']} {record.get('summary', '')}".rstrip())
    for line in sorted(set(found)):
        print(line)
    if found:
        sys.exit(1)
    if not count:
        sys.exit(f"script/lib/vulnerabilities.py: there is no record in {sys.argv[1]}")
    print(f"none of {len(known)} packages is in {count} records with its version")


main()
