"""The public declarations of Swift modules as lines, read from the symbol graphs of a debug build."""

import glob
import json
import pathlib
import subprocess

# Conformances that the compiler adds to almost every type.
IMPLIED = {"Copyable", "Escapable", "SendableMetatype"}


def read(modules, build, folder):
    """The lines of these modules. `build` is a build folder, `folder` takes the graphs."""
    flags = ["-I", f"{build}/Modules"]
    for path in sorted(glob.glob(f"{build}/*.build/module.modulemap") + glob.glob("Sources/C*/module.modulemap")):
        flags += ["-Xcc", f"-fmodule-map-file={path}"]
    includes = subprocess.run(
        ["pkg-config", "--cflags-only-I", "libpq", "libmicrohttpd"], check=True, capture_output=True, text=True
    )
    for flag in includes.stdout.split():
        flags += ["-Xcc", flag]
    target = json.loads(
        subprocess.run(["swift", "-print-target-info"], check=True, capture_output=True, text=True).stdout
    )["target"]["unversionedTriple"]
    for module in modules:
        subprocess.run(
            [
                "swift-symbolgraph-extract",
                "-module-name",
                module,
                "-target",
                target,
                *flags,
                "-minimum-access-level",
                "public",
                "-skip-synthesized-members",
                "-output-dir",
                folder,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    found = set()
    for path in sorted(pathlib.Path(folder).glob("*.symbols.json")):
        found |= lines(path.name.partition(".")[0].replace("@", " on "), json.loads(path.read_text(encoding="utf-8")))
    return found


def lines(module, graph):
    found, names = set(), {}
    required, defaulted = set(), set()
    for relation in graph["relationships"]:
        if relation["kind"] == "requirementOf":
            required.add(relation["source"])
        elif relation["kind"] == "defaultImplementationOf":
            defaulted.add(relation["target"])
    for symbol in graph["symbols"]:
        identity = symbol["identifier"]["precise"]
        names[identity] = name = f"{module} {'.'.join(symbol['pathComponents'])}"
        text = " ".join("".join(part["spelling"] for part in symbol["declarationFragments"]).split())
        if identity in required - defaulted:
            text = f"requirement {text}"
        elif any(
            each.get("isUnconditionallyDeprecated") or "deprecated" in each for each in symbol.get("availability", [])
        ):
            text = f"deprecated {text}"
        # The constraints of its extension are not part of the declaration.
        if constraints := symbol.get("swiftExtension", {}).get("constraints"):
            text += " of " + ", ".join(sorted(f"{each['lhs']} {each['kind']} {each['rhs']}" for each in constraints))
        found.add((name, text))
    for relation in graph["relationships"]:
        other = names.get(relation["target"], "").rpartition(" ")[2] or relation.get("targetFallback", "").removeprefix(
            "Swift."
        )
        if relation["kind"] == "conformsTo" and relation["source"] in names and other not in {"", *IMPLIED}:
            found.add((f"{names[relation['source']]}: {other}", "conformance"))
    return found
