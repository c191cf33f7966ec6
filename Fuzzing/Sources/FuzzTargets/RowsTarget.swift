import MVI
import SessionJournal
import Sessions

extension FuzzTarget {
    /// A journal's rows, possibly changed by a disk or a person (`Rows` has the format), and a client's calls:
    /// `open|CURSOR` and `send|FEATURE|KEY|BODY`. The rows after a line `later` are read after the first append, which
    /// `conflict`, `unknown` or `failure` cause to fail.
    static let rows = FuzzTarget(name: "rows") { input throws(BrokenProperty) in
        var (rows, later) = (Rows(), Rows?.none)
        var trouble = RowsJournal.Trouble.none
        var steps: [Substring] = []
        let text = String(decoding: input, as: UTF8.self)
        for line in text.utf8.split(separator: 0x0A, maxSplits: 64).map({ Substring($0) }) {
            switch line {
            case "later": later = Rows()
            case "conflict": trouble = .conflict
            case "unknown": trouble = .unknown
            case "failure": trouble = .failure
            case _ where line.hasPrefix("open|") || line.hasPrefix("send|"): if steps.count < 8 { steps.append(line) }
            default: later?.read(line) ?? rows.read(line)
            }
        }
        let journal = RowsJournal(rows, later: later ?? rows, trouble: trouble)
        try use(try World(journal), steps)
        try hold(journal.fault == nil, "an append is wrong: \(journal.fault ?? "")")
    }

    private static func use(_ world: World, _ steps: [Substring]) throws(BrokenProperty) {
        guard let token = SessionToken(String(repeating: "a", count: 43)) else { throw BrokenProperty("no token") }
        switch try world.result("a look-up", { world.table.find(token, completion: $0) }) {
        case .live(let session, _):
            var streams: [(stream: SessionStream, reading: StreamReading)] = []
            for step in steps where !session.isEnded {
                try run(step, session, world, &streams)
                for index in streams.indices {
                    let stream = streams[index].stream
                    _ = try streams[index].reading.read { stream.nextStep() }
                }
            }
            if !session.isEnded { try world.end(session) }
            for (stream, _) in streams { stream.closed() }
        case .damaged(let session, let error):
            try hold(error.code == .unavailable, "a damaged session is \(error)")
            try world.end(session)
            guard case .ended? = world.table.lookup(token) else { throw BrokenProperty("an ended session exists") }
        case .ended: break
        case .unknown, .failed: throw BrokenProperty("an existing session is not found")
        }
    }

    private static func run(
        _ step: Substring, _ session: Session, _ world: World,
        _ streams: inout [(stream: SessionStream, reading: StreamReading)]
    ) throws(BrokenProperty) {
        let parts = step.utf8.split(separator: UInt8(ascii: "|"), maxSplits: 3, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        if parts[0] == "open" {
            let start = StreamStart(lastEventID: parts[1])
            // A session that must catch up with damaged rows waits for valid ones.
            let opened = world.call("opening a stream") { session.openStream(.all, from: start, completion: $0) }
            if case .success(let stream)? = opened { streams.append((stream, StreamReading())) }
            return
        }
        guard parts.count == 4, let feature = FeatureID(parts[1]), ["desk", "shelf"].contains(feature.name) else {
            return
        }
        let name: IntentRequest.Name? =
            parts[2].isEmpty ? nil : Int64(parts[2]).map { .sequence(UInt64(max(1, $0)), epoch: "e") } ?? .key(parts[2])
        _ = world.call("an intent") { done in
            session.send(
                IntentRequest(body: Array(parts[3].utf8), name: name), to: feature,
                record: { _ in RecordedRefusal(status: 422, body: Array("{}".utf8)) }, completion: done)
        }
    }
}
