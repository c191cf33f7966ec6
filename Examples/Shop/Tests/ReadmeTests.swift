import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The commands of the example's README give what it shows, but for ids, times and numbers left to chance.
@Suite("The curl session of the shop's README", .timeLimit(.minutes(10)))
struct ReadmeTests {
    /// A command and the lines that it gives.
    private struct Step: Equatable {
        var command: String
        var lines: [String] = []
        /// Its output goes on while others run.
        var isStream: Bool { command.hasPrefix("curl -sN") }
    }

    @Test func `each command gives what is shown`() async throws {
        let port = UInt16.random(in: 20_000..<30_000)
        let steps = try Self.steps().map { step in
            var step = step
            step.command = step.command.replacing("localhost:8080", with: "127.0.0.1:\(port)")
            return step
        }
        #expect(steps.count == 13 && steps.count(where: \.isStream) == 1)
        let output = try await offThePool { try Self.run(steps, port: port) }
        for (index, step) in steps.enumerated().dropFirst(2) {
            let shown = step.lines.map(Self.plain)
            #expect(output[index]?.map(Self.plain) == shown, "\(step.command)")
        }
    }

    /// What each step gave, but for that which starts the server: all of it by one shell, as somebody types it.
    private static func run(_ steps: [Step], port: UInt16) throws -> [Int: [String]] {
        var script = """
            set -u
            cd "$(mktemp -d)"
            trap 'kill $server; wait $server; rm -rf "$PWD"' EXIT
            export MVI_PORT=\(port) MVI_DATA=data MVI_LOG_LEVEL=warning
            take() { local line; for ((count = 0; count < $1; count++)); do IFS= read -r line && echo "$line"; done; }

            """
        var rest = ""
        for (index, step) in steps.enumerated() {
            switch step.command {
            case "swift run shop":
                script += """
                    '\(programs())/shop' >server.log 2>&1 & server=$!
                    curl -s --retry 200 --retry-delay 0 --retry-max-time 30 --retry-connrefused \
                        127.0.0.1:\(port)/health/ready >ready || { cat server.log >&2; exit 1; }

                    """
            case _ where step.isStream:
                // The next command runs when the state is there.
                let first = 1 + (step.lines.firstIndex { $0.hasPrefix("data: {\"feature\"") } ?? 0)
                script += "exec 3< <(\(step.command)); take \(first) <&3 >\(index)\n"
                rest = "take \(step.lines.count - first) <&3 >>\(index)\n"
            default: script += "\(step.command) >\(index)\n"
            }
        }
        script += rest
        script +=
            "for each in [0-9]*; do while IFS= read -r line || [[ $line ]]; do echo \"$each $line\"; done <$each; done\n"
        var output: [Int: [String]] = [:]
        for (index, step) in steps.enumerated() where step.lines.isEmpty { output[index] = [] }
        for line in try lines(of: script) {
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard let index = Int(parts[0]) else { continue }
            output[index, default: []].append(String(parts[1]))
        }
        return output
    }

    /// The folder of the built programs, where that of the tests is, too.
    private static func programs() -> String {
        var path = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let text = String(decoding: path.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(text[..<(text.lastIndex(of: "/") ?? text.endIndex)])
    }

    /// A line without what differs from run to run.
    private static func plain(_ line: String) -> String {
        line.replacing(#/[a-z2-7]{13}/#, with: "ID")
            .replacing(#/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/#, with: "UUID")
            .replacing(#/retry: [0-9]+/#, with: "retry: N")
            .replacing(#/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/#, with: "TIME")
    }

    private static func steps() throws -> [Step] {
        let path = "\(#filePath)".replacing(#/Tests/ReadmeTests.swift$/#, with: "README.md")
        var steps: [Step] = []
        var stream: Int?
        var isCode = false
        for line in try lines(of: "cat '\(path)'") {
            if line.hasPrefix("```") {
                isCode.toggle()
            } else if !isCode {
                continue
            } else if line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2))))
                if steps[steps.count - 1].isStream { stream = steps.count - 1 }
            } else if let last = steps.last, last.command.hasSuffix("\\") {
                steps[steps.count - 1].command = last.command.dropLast() + line
            } else if let stream, line.hasPrefix(": ok") || !steps[stream].lines.isEmpty {
                steps[stream].lines.append(line)
            } else {
                steps[steps.count - 1].lines.append(line)
            }
        }
        return steps
    }

    /// What a script of Bash writes.
    private static func lines(of script: String) throws -> [String] {
        let quoted = script.replacing("'", with: "'\\''")
        let file = try #require(popen("exec bash -c '\(quoted)'", "r"))
        defer { pclose(file) }
        var (lines, buffer): ([String], [CChar]) = ([], Array(repeating: 0, count: 64 * 1024))
        while fgets(&buffer, Int32(buffer.count), file) != nil {
            lines.append(
                String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        return lines
    }
}
