import DemoFeatures
import Logging
import TestSupport
import Testing

@testable import MVIServer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The commands of the README's first page give what it shows, but for ids, times and numbers left to chance.
@Suite("The README's curl session", .timeLimit(.minutes(10)))
struct ReadmeTests {
    /// A command and the lines that it is to give; lines without a command are what the command before them gives next.
    private struct Step {
        var command: String?
        var lines: [String] = []
    }

    @Test func `each command gives what is shown`() async throws {
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let demo = try Demo(databasePath: nil, logger: logger)
        var settings = ServerSettings()
        settings.port = 0
        let assembly = try Assembly(demo.features, settings: settings, logger: logger)
        try assembly.http.start()
        let (port, steps) = (assembly.http.port, try Self.steps())
        #expect(steps.compactMap(\.command).count == 3)
        let folder = try TemporaryFolder()
        try await offThePool {
            var open: [Output] = []
            defer {
                // Ends the stream, for whose command the end of its output waits.
                assembly.sessions.drain()
                for output in open { output.end() }
            }
            for step in steps {
                if let command = step.command {
                    let local = command.replacing("localhost:8080", with: "127.0.0.1:\(port)")
                    open.append(try Output(of: "cd '\(folder.path)' && exec \(local)"))
                }
                // What goes on after another command is the stream's.
                let output = step.command == nil ? open[1] : open[open.count - 1]
                for line in step.lines {
                    // Lines without text end an event; a stream may have begun with one.
                    #expect(Self.plain(output.line() ?? "nothing") == Self.plain(line), "\(step.command ?? "")")
                }
            }
        }
        await assembly.http.shutdown(grace: .zero)
    }

    /// A line without what differs from run to run.
    private static func plain(_ line: String) -> String {
        line.replacing(#/[a-z2-7]{13}/#, with: "ID")
            .replacing(#/retry: [0-9]+/#, with: "retry: N")
            .replacing(#/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z/#, with: "TIME")
    }

    private static func steps() throws -> [Step] {
        let path = "\(#filePath)".replacing(#/Tests/CommandTests/.*$/#, with: "README.md")
        let lines = try Output(of: "cat '\(path)'").all()
        let begin = try #require(lines.firstIndex(of: "<!-- curl session: begin -->"))
        let end = try #require(lines.firstIndex(of: "<!-- curl session: end -->"))
        var steps: [Step] = []
        var isCode = false
        for line in lines[begin..<end] {
            if line.hasPrefix("```") {
                isCode.toggle()
                if isCode { steps.append(Step()) }
            } else if isCode, line.hasPrefix("$ ") {
                steps[steps.count - 1].command = String(line.dropFirst(2))
            } else if isCode {
                steps[steps.count - 1].lines.append(line)
            }
        }
        return steps
    }
}

/// What a command of the shell writes, line by line. It blocks.
private final class Output {
    private let file: UnsafeMutablePointer<FILE>

    init(of command: String) throws { file = try #require(popen(command, "r")) }

    /// The next line, without its end; nil at the end.
    func line() -> String? {
        var buffer = [CChar](repeating: 0, count: 64 * 1024)
        guard fgets(&buffer, Int32(buffer.count), file) != nil else { return nil }
        let bytes = buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    func all() -> [String] {
        var lines: [String] = []
        while let line = line() { lines.append(line) }
        end()
        return lines
    }

    /// Waits for the command's end.
    func end() { pclose(file) }
}
