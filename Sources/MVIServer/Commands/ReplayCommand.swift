import ArgumentParser
import MVI
import Sessions
import WireJSON

/// `replay PATH`: compares the recorded turns of exported sessions with what the features do today.
struct ReplayCommand<Command: FeatureServerCommand>: ServerSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "replay",
            abstract: "Reduce the recorded messages of exported sessions again and compare states and view states.",
            discussion: """
                Takes exports (mvi-session/1) with recorded turns (--record-turns): a .json file, an .ndjson file with \
                one export per line, or a folder with such files. No handler, check or launched work runs. Prints a \
                JSON object: "differences" has the first one of each store, "unreadable" what cannot be replayed, \
                "notComparable" the number of turns that differ but have pseudonyms for secrets, "omitted" the number of \
                findings beyond the first 1,000 or 16 MiB. Exits with 1 if \
                there is a difference, an unreadable one, or a required feature without a turn.
                """)
    }

    @ParentCommand var program: ServerProgram<Command>

    @Argument(help: "Files or folders with exported sessions.") var paths: [String]

    @Option(help: "Features that need at least one replayed turn, separated by commas.") var require = ""

    func validate() throws {
        if paths.isEmpty { throw ValidationError("Name a file or a folder with exported sessions.") }
    }

    func run() async throws {
        var report = ReplayReport(try await program.registry())
        try await reporting {
            for path in paths {
                try Recordings.forEach(at: path) { place, document in report.add(document, place) }
            }
            report.require(require.split(separator: ",").map(String.init))
            _ = try StandardOutput.put(report.document)
        }
        if report.isFailed { throw ExitCode(1) }
    }
}

/// The findings of replays of recorded sessions.
struct ReplayReport {
    private let features: FeatureRegistry
    private var sessions = 0
    private var turns = 0
    private var replayed: Set<String> = []
    private var differences: [[UInt8]] = []
    private var unreadable: [[UInt8]] = []
    private var notComparable = 0
    private var missing: [String] = []
    /// The bounds of all listed findings.
    private static let (longest, mostBytes) = (1_000, 16 << 20)
    private var bytes = 0
    private var omitted = 0

    init(_ features: FeatureRegistry) { self.features = features }

    var isFailed: Bool { !(differences.isEmpty && unreadable.isEmpty && missing.isEmpty) }

    /// Replays each store of an exported session. `place` is the document's file.
    mutating func add(_ document: [UInt8], _ place: String) {
        let session: RecordedSession
        do throws(NotRecorded) { session = try RecordedSession(document) } catch {
            var object = JSONObject()
            object.add("file", place)
            object.add("reason", "The file \(error)")
            list(object.close(), in: \.unreadable)
            return
        }
        sessions += 1
        for instance in session.instances {
            var object = JSONObject()
            object.add("file", place)
            if let id = session.id { object.add("session", id) }
            object.add("feature", instance)
            let result = result(session, instance)
            notComparable += result?.notComparable.count ?? 0
            let missing = ReplayResult.Outcome.unreadable(turn: nil, "The program has no feature \"\(instance)\".")
            switch result?.outcome ?? missing {
            case .same(let count):
                turns += count
                if count > 0 { replayed.insert(String(instance.prefix { $0 != ":" })) }
            case .differs(let difference):
                object.add("turn", difference.turn)
                object.add("what", difference.what.rawValue)
                object.add("recorded", json: difference.recorded)
                object.add("replayed", json: difference.replayed)
                if let patch = difference.patch { object.add("patch", json: patch) }
                list(object.close(), in: \.differences)
            case .unreadable(let turn, let reason):
                if let turn { object.add("turn", turn) }
                object.add("reason", reason)
                list(object.close(), in: \.unreadable)
            }
        }
    }

    /// Adds a finding, at least the first one of a list.
    private mutating func list(_ finding: [UInt8], in list: WritableKeyPath<ReplayReport, [[UInt8]]>) {
        let isOverBound = differences.count + unreadable.count >= Self.longest || bytes + finding.count > Self.mostBytes
        if isOverBound, !self[keyPath: list].isEmpty {
            omitted += 1
        } else {
            self[keyPath: list].append(finding)
            bytes += finding.count
        }
    }

    private func result(_ session: RecordedSession, _ instance: String) -> ReplayResult? {
        guard let id = FeatureID(instance), let definition = features.definition(for: id) else { return nil }
        return definition.replayer.run(session, id)
    }

    /// Notes features that were not replayed although they have to be.
    mutating func require(_ names: [String]) {
        missing = names.filter { !replayed.contains($0) }
    }

    /// One JSON object, with each finding on its own line.
    var document: [UInt8] {
        func lines(_ elements: [[UInt8]]) -> [[UInt8]] { elements.map { [UInt8(ascii: "\n")] + $0 } }
        var object = JSONObject()
        object.add("sessions", sessions)
        object.add("turns", turns)
        object.add("differences", array: lines(differences))
        object.add("unreadable", array: lines(unreadable))
        object.add(
            "missing",
            array: missing.map { name in
                var text: [UInt8] = []
                WireJSON.appendString(name, to: &text)
                return text
            })
        object.add("notComparable", notComparable)
        if omitted > 0 { object.add("omitted", omitted) }
        return object.close().withoutInvisiblesInJSON + [UInt8(ascii: "\n")]
    }
}
