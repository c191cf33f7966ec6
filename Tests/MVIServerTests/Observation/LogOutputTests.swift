import Locking
import Logging
import Testing

@testable import MVIServer

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Over a real pipe. Held in a whole program by script/gate log.
@Suite("A log that is not read")
struct LogOutputTests {
    private let (reader, writer): (Int32, Int32)

    init() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        (reader, writer) = (ends[0], ends[1])
    }

    /// Reads until a text ends with this.
    private func text(until end: String) -> String {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !text.hasSuffix(end) {
            let count = read(reader, &buffer, buffer.count)
            guard count > 0 else { break }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
        return text
    }

    @Test(
        "stops no caller: lines beyond the bound are dropped, and counted when it is read",
        arguments: LogFormat.allCases)
    func slow(_ format: LogFormat) throws {
        let output = LogOutput(descriptor: writer)
        output.use(format)
        let logger = Logger(label: "test") { format.handler(label: $0, write: output.add) }
        let count = 4 * LogOutput.limit / 1_000
        for number in 0..<count { logger.info("number \(number) \(String(repeating: "x", count: 1_000))") }
        let dropped = output.dropped
        #expect(dropped > 0 && dropped < count)
        // The lines that were kept are whole, and in order; summaries count the others.
        var (kept, told): ([Int], Int) = ([], 0)
        while kept.count + told < count {
            for line in text(until: "\n").split(separator: "\n") {
                let isSummary = line.contains("Log lines were dropped")
                let number = line.firstMatch(of: isSummary ? /count\W+(\d+)/ : /number (\d+) x{1000}/)
                let found = try #require(number.flatMap { Int($0.1) }, "\(line)")
                if isSummary { told += found } else { kept.append(found) }
            }
        }
        #expect(told == dropped && kept == kept.sorted())
        logger.info("later")
        #expect(text(until: format == .text ? "later\n" : "}\n").contains("later"))
    }

    @Test("delays the end of a process for a moment only")
    func flush() {
        let output = LogOutput(descriptor: writer)
        output.add([UInt8](repeating: 1, count: LogOutput.limit / 2))
        output.flush(within: .milliseconds(1))
        output.add(Array("end\n".utf8))
        #expect(text(until: "end\n").utf8.count == LogOutput.limit / 2 + 4)
        output.flush(within: .seconds(60))
    }

    @Test("a reader that has gone loses the lines")
    func gone() {
        signal(SIGPIPE, SIG_IGN)
        close(reader)
        let output = LogOutput(descriptor: writer)
        for _ in 0..<3 {
            output.add(Array("lost\n".utf8))
            output.flush(within: .seconds(60))
        }
        #expect(output.dropped == 0)
    }
}
