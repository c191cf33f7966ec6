import Foundation
import TestSupport
import Testing

/// Follows docs/debugging.md word for word: runs its commands in order and compares the output that it shows.
@Suite("The page about debugging", .timeLimit(.minutes(10)))
struct DebuggingTests {
    private struct Step {
        var command: String
        var shown: [String] = []
    }

    /// The commands of the page's console blocks with the lines that follow them.
    private static func steps(_ page: String) -> [Step] {
        var steps: [Step] = []
        var isConsole = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isConsole = line == "```console"
            } else if isConsole, line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2))))
            } else if isConsole, !steps.isEmpty {
                steps[steps.count - 1].shown.append(String(line))
            }
        }
        return steps
    }

    @Test func `each command works, and prints the shown output`() async throws {
        let path = "\(#filePath)".replacing(#/Tests/CommandTests/.*$/#, with: "docs/debugging.md")
        let page = try String(contentsOfFile: path, encoding: .utf8)
        let steps = Self.steps(page)
        #expect(steps.count == 18)
        var script = """
            set -euo pipefail
            trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
            ready() { until curl -sf "localhost:$1/health/ready" -o /dev/null; do kill -0 $!; done; }

            """
        for (index, step) in steps.enumerated() {
            guard step.command.hasSuffix("&") else {
                script += step.shown.isEmpty ? "\(step.command)\n" : "{ \(step.command); } >shown\(index)\n"
                for (line, text) in step.shown.enumerated() {
                    // An ellipsis stands for what differs each time.
                    let pattern = text.split(separator: "…", omittingEmptySubsequences: false)
                        .map { "'\($0)'" }.joined(separator: "*")
                    script += """
                        line=$(sed -n \(line + 1)p shown\(index))
                        [[ $line == \(pattern) ]] || { printf '%s\\n' \(index) "$line"; exit 9; }

                        """
                }
                continue
            }
            script += "\(step.command.dropLast()) >log\(index) 2>&1 &\n"
            script += "ready \(step.command.contains("8090") ? 8090 : 8080)\n"
        }
        // Other ports, which are free in all likelihood.
        let base = Int.random(in: 20_000..<30_000)
        for (offset, port) in ["8080", "8081", "8090"].enumerated() {
            script = script.replacing(port, with: "\(base + offset)")
        }
        script = script.replacing(
            "mvi-server --admin-port", with: "mvi-server --port \(base) --demo-latency 0s --admin-port")
        let folder = try TemporaryFolder()
        let (code, text) = try await Tool.bash.output([
            "-c", "PATH=\(Tool.folder):$PATH\ncd \(folder.path)\n\(script)",
        ])
        #expect(code == 0, "\(text)")
    }
}
