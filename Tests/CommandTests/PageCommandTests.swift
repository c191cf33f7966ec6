import Foundation
import TestSupport
import Testing

@testable import MVIServer

/// Checks that a test runs every command on a page, or that this file names what runs it instead.
@Suite("The commands of all pages", .timeLimit(.minutes(10)))
struct PageCommandTests {
    /// The way in which a command is checked.
    private enum Proof {
        /// A test runs the page's whole session: see `expectPage`.
        case session
        /// `typed` below runs it, on a data folder with a session.
        case typed
        /// The test, script or trial of that name runs it, or its parts.
        case other(String)
        /// It needs something that the test machines do not have.
        case notHere(String)
    }

    private static let root = "\(#filePath)".replacing(#/\/Tests\/CommandTests\/.*$/#, with: "")

    /// By page, then by the beginning of the command.
    private static let proofs: [String: [String: Proof]] = [
        "README.md": [
            "curl ": .session, "script/server": .other("script/bench"), "script/test": .other(".ci/run"),
            "script/new": .other("NewPackageTests"), "cd ../little-shop": .other("script/trial new"),
            "script/image": .notHere("the images of Docker Hub"), "docker ": .notHere("a Docker engine"),
        ],
        "docs/http.md": ["curl ": .session],
        "docs/deployment.md": [
            "script/image": .notHere("the images of Docker Hub"), "docker ": .notHere("a Docker engine"),
            "mvi-server sessions": .typed, "mvi-server export": .typed, "mvi-server backup": .typed,
            "mvi-server restore": .typed, "mvi-server sign-out": .typed, "mvi-server rotate-key": .typed,
            "MVI_JOURNAL=": .other("PostgresJournalTests"), "mvi-server import": .other("PostgresJournalTests"),
            "mvi-server --data": .other("PostgresJournalTests"),
        ],
        "docs/doctor.md": ["mvi-server doctor": .other("script/trial doctor")],
        "docs/debugging.md": ["": .other("DebuggingTests")],
        "docs/fixtures.md": ["mvi-server sessions": .typed, "mvi-server export": .typed],
        "docs/identity.md": [
            "mvi-server --jwt-issuer": .typed, "/usr/bin/python3": .typed,
        ],
        "docs/many-nodes.md": ["echo ": .typed, "docker ": .notHere("a Docker engine")],
        "docs/observation.md": ["mvi-server --admin-port": .typed, "curl ": .typed],
        "docs/proxies.md": [
            "script/trial proxies": .other("script/trial proxies"), "a2": .other("script/trial proxies"),
            "printf ": .typed,
        ],
        "docs/types.md": ["mvi-server schema": .typed, "mvi-server types": .typed],
        "Sources/MVIServer/MVIServer.docc/AServerOfYourOwn.md": [
            "script/new": .other("NewPackageTests"), "cd ": .other("script/trial new"),
            "swift run": .other("script/trial new"),
        ],
        "Examples/Minimal/README.md": ["": .session], "Examples/Migration/README.md": ["": .session],
        "Examples/Desk/README.md": ["": .session],
        "Examples/Shop/README.md": ["": .session], "Examples/Template/README.md": ["": .session],
        "Examples/SharedTemplate/README.md": ["": .session],
        "Clients/Kotlin/README.md": ["": .other("script/clients")],
        "Clients/Conformance/README.md": [
            "Clients/Conformance/run": .other("script/clients"), "Clients/Conformance/prove": .other("script/clients"),
        ],
    ]

    /// Returns the commands of all pages.
    private static func commands() throws -> [(page: String, command: String)] {
        let pages = try FileManager.default.subpathsOfDirectory(atPath: root).filter { path in
            path.hasSuffix(".md") && !path.hasPrefix(".") && !path.contains("/.") && !path.contains("decisions/")
                && !path.contains("node_modules") && path != "CHANGELOG.md"
        }
        return try pages.sorted().flatMap { page in
            try commands(of: page).map { (page, $0) }
        }
    }

    private static func commands(of page: String) throws -> [String] {
        var commands: [String] = []
        var isCode = false
        for line in try String(contentsOfFile: "\(root)/\(page)", encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("```") {
                isCode = line == "```console"
            } else if isCode, line.hasPrefix("$ ") {
                commands.append(String(line.dropFirst(2)))
            } else if isCode, let last = commands.last,
                last.hasSuffix("\\") || !last.count(where: { $0 == "'" }).isMultiple(of: 2)
            {
                commands[commands.count - 1] += "\n" + line
            }
        }
        return commands
    }

    private static func proof(_ page: String, _ command: String) -> Proof? {
        proofs[page]?.first { command.hasPrefix($0.key) }?.value
    }

    @Test func `each is run by a test, or listed with what runs it`() throws {
        let commands = try Self.commands()
        #expect(commands.count > 60)
        for (page, command) in commands {
            #expect(Self.proof(page, command) != nil, "\(page): \(command)")
        }
        for (page, proofs) in Self.proofs {
            for (prefix, _) in proofs {
                let isUsed = commands.contains { $0.page == page && $0.command.hasPrefix(prefix) }
                #expect(isUsed, "\(page) has no command that begins with '\(prefix)' any more")
            }
        }
    }

    @Test func `those without a server work unchanged on a data folder`() async throws {
        let temporary = try TemporaryFolder()
        let journal = try await KeptSessions.open(try temporary.folder("data"))
        try await KeptSessions.add(1...2, to: journal)
        await journal.close()
        _ = try temporary.folder("backup")
        _ = try temporary.folder("deploy")
        for (page, command) in try Self.commands() {
            guard case .typed = Self.proof(page, command) else { continue }
            let command = typable(command, temporary.path)
            // The tests below start a server.
            guard !command.hasPrefix("mvi-server --"), !command.hasPrefix("curl") else { continue }
            let folders =
                command.contains("restore") ? "rm \(temporary.path)/data/*\n" : ""
            let (code, text) = try await Tool.bash.output([
                "-c", "set -eu\nPATH=\(Tool.folder):$PATH\ncd \(temporary.path)\n\(folders)\(command)",
            ])
            #expect(code == 0, "\(page): \(command)\n\(text)")
        }
        #expect(TemporaryFolder.isThere("\(temporary.path)/keys.json"))
    }

    /// Returns a page's command with this test's folder and session in place of the page's.
    private func typable(_ command: String, _ folder: String) -> String {
        command.replacing("--data /data", with: "--data \(folder)/data").replacing("mvi-data", with: "data")
            .replacing("/backup/", with: "\(folder)/backup/").replacing("SESSION", with: "session-1")
            .replacing("dq3b4udnjjiv7", with: "session-1").replacing("/etc/apache2/", with: "\(folder)/")
    }

    @Test(arguments: ["docs/identity.md", "docs/observation.md"])
    func `servers start with the shown flags`(page: String) async throws {
        let temporary = try TemporaryFolder()
        let (port, admin) = (UInt16.random(in: 20_000..<30_000), UInt16.random(in: 30_000..<32_000))
        var script = """
            set -eu
            PATH=\(Tool.folder):$PATH
            cd \(temporary.path)
            export MVI_PORT=\(port) MVI_DATA=:memory:
            trap 'kill $server 2>/dev/null || true; wait' EXIT
            server=
            ready() { curl -s --retry 200 --retry-delay 0 --retry-max-time 30 --retry-connrefused \
            127.0.0.1:\(port)/health/ready >/dev/null; }

            """
        for command in try Self.commands(of: page) {
            let command = command.replacing("8081", with: "\(admin)")
            if command.hasPrefix("mvi-server") {
                script += """
                    if [[ $server ]]; then kill $server; wait $server || true; fi
                    \(command.hasSuffix("&") ? "\(command.dropLast())" : command) >>log 2>&1 & server=$!
                    ready
                    kill -0 $server

                    """
            } else {
                script += command + "\n"
            }
        }
        let (code, text) = try await Tool.bash.output(["-c", script])
        #expect(code == 0, "\(text)")
        #expect(!text.isEmpty, "the commands print tokens, or metrics")
    }
}
