#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The commands of a page and their shown output: the blocks of the language `console`.
///
/// * `$ swift run NAME …`, also as the argument of a script, starts a server of this build; the next command runs when it
///   is ready.
/// * `^C` stops it.
/// * `$ curl -sN …` is a stream: the next command runs when it has written the output of its block, or its first state.
/// A block
///   that begins without a command contains the next output of the latest stream.
public struct ConsoleSession: Sendable {
    /// A command and its output lines.
    public struct Step: Equatable, Sendable {
        /// The command on one line.
        public fileprivate(set) var command: String
        /// The output on the page; the actual output in the result of a run.
        public fileprivate(set) var lines: [String] = []

        /// True if its output continues while other commands run.
        public var isStream: Bool { command.hasPrefix("curl -sN") }
        /// The started program, and the script that starts it, such as `./development `.
        fileprivate var start: (script: Substring, program: Substring)? {
            command.wholeMatch(of: #/(\./\w+ )?swift run (.+)/#).map { ($0.output.1 ?? "", $0.output.2) }
        }
    }

    /// The actions, in the page's order.
    private enum Action {
        /// Runs a command; its block has so many lines of output.
        case type(step: Int, lines: Int)
        /// Reads so many more lines of a stream.
        case read(step: Int, lines: Int)
        case stop
    }

    /// The commands in the page's order.
    public private(set) var steps: [Step] = []
    private var actions: [Action] = []

    /// Reads a page. Blocks.
    ///
    /// - Parameters:
    ///   - path: the path of its file.
    ///   - part: the part between `<!-- part: begin -->` and `<!-- part: end -->`; nil for the whole page.
    public init(page path: String, part: String? = nil) throws {
        var lines = try Self.lines(of: "cat '\(path)'")[...]
        if let part {
            guard let begin = lines.firstIndex(of: "<!-- \(part): begin -->"),
                let end = lines.firstIndex(of: "<!-- \(part): end -->")
            else { throw Fault(description: "\(path) has no part '\(part)'") }
            lines = lines[begin..<end]
        }
        var fence: Substring?
        for line in lines {
            if line.hasPrefix("```") {
                fence = fence == nil ? line.dropFirst(3) : nil
                if fence == "console" { actions.append(.read(step: latestStream ?? 0, lines: 0)) }
            } else if fence == "console" {
                take(line)
            }
        }
    }

    private var latestStream: Int? { steps.lastIndex { $0.isStream } }

    private mutating func take(_ line: String) {
        if let last = steps.last, last.command.hasSuffix("\\") {
            steps[steps.count - 1].command = last.command.dropLast() + line
        } else if line.hasPrefix("$ ") {
            actions.append(.type(step: steps.count, lines: 0))
            steps.append(Step(command: String(line.dropFirst(2))))
        } else if line == "^C" {
            actions.append(.stop)
        } else {
            switch actions.last {
            case .type(let step, let count):
                actions[actions.count - 1] = .type(step: step, lines: count + 1)
                steps[step].lines.append(line)
            case .read(let step, let count) where latestStream != nil:
                actions[actions.count - 1] = .read(step: step, lines: count + 1)
                steps[step].lines.append(line)
            default: break
            }
        }
    }

    // MARK: Running

    /// Runs the commands in one shell, in an empty folder, and returns them with their output. Blocks.
    ///
    /// - Parameters:
    ///   - port: replaces the page's 8080.
    ///   - variables: variables of the shell's environment.
    ///   - files: the paths of files that the folder has.
    public func run(port: UInt16, variables: [String: String] = [:], files: [String] = []) throws -> [Step] {
        var script = Script(port: port, variables: variables)
        for file in files { script.text += "cp '\(file)' .\n" }
        for action in actions {
            switch action {
            case .stop: script.text += "stop\n"
            case .read(let step, let lines): if lines > 0 { script.read(lines, of: step) }
            case .type(let index, let lines): script.type(steps[index], index, lines)
            }
        }
        script.text += """
            for each in outputs/*; do
                while IFS= read -r line || [[ $line ]]; do echo "${each#*/} $line"; done <$each
            done

            """
        var given = steps.map { Step(command: $0.command) }
        for line in try Self.lines(of: script.text) {
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let index = Int(parts[0]), given.indices.contains(index) else { continue }
            given[index].lines.append(String(parts[1]))
        }
        return given
    }

    /// The Bash script of a run.
    private struct Script {
        var text: String
        private let port: UInt16
        /// The number of lines of each stream on the page so far, and of those read.
        private var streams: [Int: (descriptor: Int, shown: Int, read: Int)] = [:]

        init(port: UInt16, variables: [String: String]) {
            self.port = port
            // SIGTERM for Ctrl-C: background processes of a shell without a terminal ignore SIGINT.
            text = """
                set -u
                server=
                stop() { [[ -z $server ]] || { kill $server; wait $server; server=; }; }
                take() {
                    local line
                    for ((count = 0; count < $1; count++)); do IFS= read -r -t 60 line || break; echo "$line"; done
                }
                cd "$(mktemp -d)"
                trap 'stop; rm -rf "$PWD"' EXIT
                mkdir outputs
                export MVI_PORT=\(port) MVI_LOG_LEVEL=warning

                """
            for (name, value) in variables { text += "export \(name)='\(value)'\n" }
        }

        mutating func type(_ step: Step, _ index: Int, _ lines: Int) {
            if let (script, program) = step.start {
                text += """
                    \(script)'\(ConsoleSession.programs)/'\(program) >server.log 2>&1 & server=$!
                    curl -s --retry 200 --retry-delay 0 --retry-max-time 30 --retry-connrefused \
                        127.0.0.1:\(port)/health/ready >ready || { cat server.log >&2; exit 1; }

                    """
                return
            }
            let command = step.command.replacing("localhost:8080", with: "127.0.0.1:\(port)")
            guard step.isStream else { return text += "\(command) >outputs/\(index)\n" }
            let state = step.lines.firstIndex { $0.hasPrefix("data: {\"feature\"") } ?? 0
            let stream = (descriptor: 3 + streams.count, shown: lines, read: lines > 0 ? lines : state + 1)
            streams[index] = stream
            text += "exec \(stream.descriptor)< <(\(command))\n"
            text += "take \(stream.read) <&\(stream.descriptor) >outputs/\(index)\n"
        }

        mutating func read(_ lines: Int, of index: Int) {
            guard var stream = streams[index] else { return }
            stream.shown += lines
            let more = stream.shown - stream.read
            if more > 0 {
                text += "take \(more) <&\(stream.descriptor) >>outputs/\(index)\n"
                stream.read += more
            }
            streams[index] = stream
        }
    }

    /// The folder of the built programs and of the tests.
    private static var programs: String {
        var path = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let text = String(decoding: path.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(text[..<(text.lastIndex(of: "/") ?? text.endIndex)])
    }

    /// Returns the output of a Bash script.
    private static func lines(of script: String) throws -> [String] {
        let quoted = script.replacing("'", with: "'\\''")
        guard let file = popen("exec bash -c '\(quoted)'", "r") else { throw Fault(description: "no shell runs") }
        defer { pclose(file) }
        var (lines, buffer): ([String], [CChar]) = ([], Array(repeating: 0, count: 64 * 1024))
        while fgets(&buffer, Int32(buffer.count), file) != nil {
            lines.append(
                String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        return lines
    }

    private struct Fault: Error, CustomStringConvertible { let description: String }
}

extension ConsoleSession.Step {
    /// The step without the values that differ between runs: ids, times and random numbers.
    public var plain: Self {
        var step = self
        step.lines = lines.map { line in
            line.replacing(#/[a-z2-7]{13}/#, with: "ID")
                .replacing(#/guest-[a-z2-7]{4}/#, with: "guest-ID")
                .replacing(#/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/#, with: "UUID")
                .replacing(#/("?retry"?): ?[0-9]+/#) { "\($0.output.1): N" }
                // A second may end before it is written.
                .replacing(#/"expiresIn":[0-9]+/#, with: #""expiresIn":N"#)
                .replacing(#/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/#, with: "TIME")
        }
        if step.lines.contains("event: hello") { step.lines = Self.newest(step.lines) }
        return step
    }

    /// The lines of a stream without pings, and without states directly before a newer one of the same feature: a stream
    /// that is read slowly does not have those.
    private static func newest(_ lines: [String]) -> [String] {
        var kept: [[String]] = []
        for event in lines.split(separator: "", omittingEmptySubsequences: true).map({ Array($0) })
        where !event.contains("event: ping") {
            if let feature = feature(ofState: event), let last = kept.last, Self.feature(ofState: last) == feature {
                kept.removeLast()
            }
            kept.append(event)
        }
        return Array(kept.joined(separator: [""]))
    }

    private static func feature(ofState event: [String]) -> Substring? {
        guard event.contains("event: state"), let data = event.first(where: { $0.hasPrefix("data: ") }) else {
            return nil
        }
        return data.firstMatch(of: #/"feature":"([^"]*)"/#)?.output.1
    }
}
