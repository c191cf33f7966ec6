"""Breaks that are planted into declarations of Swift, JavaScript and Kotlin; see planted.py."""

import json
import pathlib
import subprocess
import tempfile

import comparison
import declarations
import surfaces
import symbols

ROOT = surfaces.ROOT
failures = []


def expect(what, found, *parts):
    """`found` has one sentence, with these parts; without parts none."""
    sentences = [each.sentence for each in found]
    fits = len(sentences) == 1 and all(part in sentences[0] for part in parts) if parts else not sentences
    if not fits:
        failures.append(f"{what}: expected {parts or 'nothing'}, found {sentences or 'nothing'}")


def expect_mark(name, lines):
    if not any(each.startswith("deprecated ") for label, each in lines if label == name):
        failures.append(f"{name}: the mark of a deprecation is not read")


def replaced(text, old, new):
    if old not in text:
        raise SystemExit(f"planted.py: nothing to replace: {old!r} is not there any more")
    return text.replace(old, new)


# --- Swift ------------------------------------------------------------------------------------------------------------
SWIFT = """
public protocol Shop { associatedtype Row; func open() }
public struct Turn<Value>: Equatable where Value: Equatable {
    public init() {}
    public var value: Value? { nil }
    public func publish(_ label: String, to other: Int = 0) {}
    func hidden() {}
}
public enum View { case loading, ready(Int) }
"""


def plant_swift():
    with tempfile.TemporaryDirectory() as folder:

        def graph(text):
            path = pathlib.Path(folder)
            (path / "Shop.swift").write_text(text, encoding="utf-8")
            subprocess.run(
                [
                    "swiftc",
                    "-emit-module",
                    "-module-name",
                    "Kit",
                    "Shop.swift",
                    "-emit-symbol-graph",
                    "-emit-symbol-graph-dir",
                    "graphs",
                    "-symbol-graph-skip-synthesized-members",
                    "-emit-module-path",
                    "Kit.swiftmodule",
                    "-parse-as-library",
                ],
                check=True,
                cwd=path,
            )
            return symbols.lines("Kit", json.loads((path / "graphs" / "Kit.symbols.json").read_text(encoding="utf-8")))

        def found(old, new):
            return comparison.compare("swift", before, graph(replaced(SWIFT, old, new)), "0.1.0")

        before = graph(SWIFT)
        expect(
            "a renamed public method",
            found("func publish", "func announce"),
            "`Turn.publish(_:to:)` (Kit) is gone",
            "code of 0.1.0 that uses it does not compile",
        )
        expect(
            "another result",
            found("value: Value? { nil }", "value: [Value] { [] }"),
            "`Turn.value` (Kit) is now `var value: [Value]",
        )
        expect(
            "a lost conformance",
            found("struct Turn<Value>: Equatable where", "struct Turn<Value> where"),
            "`Turn: Equatable` (Kit) does not hold any more",
        )
        expect(
            "a new requirement",
            found("func open()", "func open(); func close()"),
            "`Shop.close()` (Kit) is a new requirement",
            "that conform to `Shop`",
        )
        expect(
            "a new case",
            found("case loading, ", "case loading, failed, "),
            "`View.failed` (Kit) is a new case",
            "switches over `View`",
        )
        expect(
            "a parameter without a default",
            found("to other: Int = 0", "to other: Int = 0, at: Int"),
            "`Turn.publish(_:to:)` (Kit)",
        )
        expect(
            "additions",
            found(
                "func hidden() {}",
                "public func more() {}\n    public enum Kind { case one }\n    public func hidden(_: Int) {}",
            ),
        )
        expect("a parameter with a default", found("to other: Int = 0", "to other: Int = 0, at: Int = 1"))
        expect(
            "a requirement with a default",
            found(
                "func open() }\n", "func open(); func close() }\nextension Shop { public func close() {} }\n"
            ),
        )


# --- Clients ----------------------------------------------------------------------------------------------------------
def plant_clients():
    text = (ROOT / "Clients/JavaScript/mvi-client.d.ts").read_text(encoding="utf-8")

    def javascript(old, new):
        return comparison.compare(
            "javascript", declarations.typescript(text), declarations.typescript(replaced(text, old, new)), "0.1.0"
        )

    expect(
        "a renamed method of JavaScript",
        javascript("  dispose(): Promise<void>;", "  discard(): Promise<void>;"),
        "`Store.dispose` is gone: apps in JavaScript and TypeScript of 0.1.0",
    )
    expect(
        "a condition",
        javascript('| "paused"', '| "paused" | "planted"'),
        '`Condition "planted"` is a new case',
        "switch over `Condition`",
    )
    expect(
        "a needed option",
        javascript("  shared?: boolean;", "  shared?: boolean;\n  planted: string;"),
        "`ClientOptions.planted` is a new member",
        "make a `ClientOptions`",
    )
    expect(
        "another type",
        javascript("  version: number;\n}", "  version: string;\n}"),
        "`Sent.version` is now `version: string`",
    )
    dispose = "  dispose(): Promise<void>;"
    marked = replaced(text, dispose, f"  /** @deprecated Use another. */\n{dispose}")
    expect_mark("Store.dispose", declarations.typescript(marked))
    expect("an option", javascript('until?: "shown"; signal', 'until?: "shown"; planted?: string; signal'))
    expect("additions", javascript("  close(): void;", "  close(): void;\n  planted(): void;"))

    path = ROOT / "Clients/Kotlin/src/main/kotlin/mvi/client"
    files = {
        name: (path / f"{name}.kt").read_text(encoding="utf-8")
        for name in ("RemoteServer", "RemoteError", "Transport", "Condition")
    }

    def kotlin(file, old, new):
        return comparison.compare(
            "kotlin", declarations.kotlin(files[file]), declarations.kotlin(replaced(files[file], old, new)), "0.1.0"
        )

    expect(
        "a renamed function of Kotlin",
        kotlin("RemoteServer", "fun renewSession()", "fun restartSession()"),
        "`RemoteServer.renewSession` is gone: apps in Kotlin of 0.1.0",
    )
    marked = replaced(files["RemoteServer"], "fun renewSession", '@Deprecated("Use another.") fun renewSession')
    expect_mark("mvi.client.RemoteServer.renewSession", declarations.kotlin(marked))
    expect("an internal function", kotlin("RemoteServer", "internal fun noteOutdated", "internal fun planted"))
    expect(
        "a code",
        kotlin("RemoteError", "        GAVE_UP,", "        GAVE_UP,\n        PLANTED,"),
        "`RemoteError.Code PLANTED` is a new case",
    )
    expect(
        "a condition of Kotlin",
        kotlin(
            "Condition",
            "    data object Paused : Condition",
            "    data object Paused : Condition\n\n    data object Planted : Condition",
        ),
        "`Condition Planted` is a new case",
    )
    expect(
        "a new requirement of Kotlin",
        kotlin("Transport", "    fun cut(id: Long)\n", "    fun cut(id: Long)\n\n    fun planted()\n"),
        "`Transport.planted` is a new member",
        "make a `Transport`",
    )
    expect(
        "a parameter with a default",
        kotlin(
            "RemoteServer",
            "fun signIn(keepsStores: Boolean = true)",
            "fun signIn(keepsStores: Boolean = true, planted: Int = 0)",
        ),
    )
