import EventStream
import Locking
import MVI
import SessionJournal
import WireJSON

@testable import Sessions

/// A client with a session of its own that sends intents to spaces by any node, shows some of them on one stream, and
/// checks what it is promised.
final class SpaceCaller: NodeUser {
    /// The number of intents of a caller: each has a number of its own.
    static let range = 1_000

    struct Request {
        let number: Int
        let feature: FeatureID
        let body: String
        let name: IntentRequest.Name
        var tries = 0
        var sent: Duration?
        /// The number of losses of the space at its first try.
        let losses: Int
    }

    private enum Item: Sendable {
        case answer(number: Int, tries: Int, NodeAnswer)
        case stream(StreamBundle?, StoreError?, opening: Int)
    }

    let index: Int
    let token: SessionToken
    let isUser: Bool
    let features: [FeatureID]
    private let log: SpaceLog
    private let inbox = Inbox<Item>()
    private(set) var open: [Request] = []
    private(set) var faults: [String] = []
    private var count = 0
    private var sequence: UInt64 = 0
    private var epoch = "e"
    private let usesNumbers: Bool
    /// True if its session was ended, or may have been.
    var isEnding = false
    private(set) var hasEnded = false

    private(set) var reader: BundleReader?
    private var streamNode: NodeProcess?
    private var opening = 0
    private var openingSince: Duration?
    /// A node without the journal's answer shows what it knows.
    private var trust: (way: NodeClient.Trust, asked: Duration)?
    private var isTrusted = true
    private var cursor: String?
    private var ownEpoch = ""
    private(set) var shown: [SpaceName: Shown] = [:]
    /// Who looks, as it was told last.
    private(set) var viewers: [FeatureID: SpaceViewers] = [:]
    /// The newest version that it was answered, and the number of the space's losses then.
    private var answered: [SpaceName: (version: UInt64, losses: Int)] = [:]

    init(
        _ index: Int, _ token: SessionToken, isUser: Bool, _ features: [FeatureID], usesNumbers: Bool, _ log: SpaceLog
    ) {
        (self.index, self.token, self.isUser, self.features) = (index, token, isUser, features)
        (self.usesNumbers, self.log) = (usesNumbers, log)
        log.add(caller: token)
    }

    var subject: String? { isUser ? "user\(index)" : nil }

    func fault(_ text: String) { faults.append("caller \(index): \(text)") }
    // MARK: Intents
    func intend(_ random: inout SplitMix) {
        guard open.count < (usesNumbers ? 1 : 3), count < 60 else { return }
        count += 1
        let number = index * Self.range + count
        let feature = features[Int(random.next() % UInt64(features.count))]
        // Callers use the same keys and numbers.
        var name = IntentRequest.Name.key("k\(count)")
        if usesNumbers {
            sequence += 1
            name = .sequence(sequence, epoch: "\(epoch)\(feature.text)")
        }
        let body = log.body(of: number, to: feature, &random)
        open.append(
            Request(
                number: number, feature: feature, body: body, name: name,
                losses: log[Self.name(feature)]?.losses ?? 0))
        if usesNumbers { (epoch, sequence) = ("e\(count)", 0) }
    }

    func send(_ random: inout SplitMix, to node: NodeProcess, now: Duration) {
        let waiting = open.indices.filter { open[$0].sent == nil }
        guard !waiting.isEmpty, !node.isStopped, !hasEnded else { return }
        let index = waiting[Int(random.next() % UInt64(waiting.count))]
        open[index].sent = now
        open[index].tries += 1
        let request = open[index]
        log.tell("caller \(self.index) sends \(request.number) to life \(node.life)")
        node.take(
            NodeCall(
                token: token, feature: request.feature,
                purpose: .intent(IntentRequest(body: Array(request.body.utf8), name: request.name))
            ) { [inbox, number = request.number, tries = request.tries] result in
                inbox.put(.answer(number: number, tries: tries, result))
            })
    }

    func lookAtClock(now: Duration, patience: Duration) {
        for index in open.indices {
            if let sent = open[index].sent, now - sent >= patience { open[index].sent = nil }
        }
        if let since = openingSince, now - since >= patience { (opening, openingSince) = (opening + 1, nil) }
    }

    func receive() {
        for item in inbox.take() {
            switch item {
            case .answer(let number, let tries, let answer): answered(number, tries, answer)
            case .stream(let stream, let error, let number): opened(stream, error, number)
            }
        }
    }

    private func answered(_ number: Int, _ tries: Int, _ answer: NodeAnswer) {
        guard let index = open.firstIndex(where: { $0.number == number }) else { return }
        let request = open[index]
        log.tell("caller \(self.index) heard of \(number), try \(tries) of \(request.tries): \(answer)")
        guard request.tries == tries else { return }
        switch answer.result {
        case .success(let outcome):
            open.remove(at: index)
            if Self.isGuarded(request.feature), !isUser { fault("81: intent \(number) was not refused") }
            let space = log[Self.name(request.feature)]
            if space?.losses == request.losses, log.ran(number) != 1 {
                fault("80: intent \(number) was acknowledged and ran \(log.ran(number)) times")
            }
            if let version = outcome?.version, space?.losses == request.losses {
                let name = Self.name(request.feature)
                let before = answered[name].flatMap { $0.losses == request.losses ? $0.version : nil }
                answered[name] = (max(version, before ?? 0), request.losses)
            }
        case .failure(let error):
            if error.code == .gone || error.code == .signedOut {
                if !isEnding { fault("intent \(number) was refused: \(error)") }
                (open, hasEnded) = ([], true)
            } else if error.code == .forbidden {
                open.remove(at: index)
                if isUser || !Self.isGuarded(request.feature) { fault("intent \(number) was forbidden") }
                if log.ran(number) > 0 { fault("81: intent \(number) was forbidden and ran") }
            } else {
                let isForNow: Set<StoreError.Code> = [
                    .unavailable, .contended, .evicted, .full, .busy, .receiptPending, .elsewhere, .disposed,
                ]
                if !isForNow.contains(error.code) {
                    fault("intent \(number) was refused for good: \(error.code) \(error)")
                }
                open[index].sent = nil
            }
        }
    }

    // MARK: The stream

    func openStream(on node: NodeProcess, now: Duration) {
        guard reader == nil, openingSince == nil, !node.isStopped, !hasEnded else { return }
        (opening, openingSince, streamNode) = (opening + 1, now, node)
        trust = (NodeClient.Trust(node.way), node.clocks.source.monotonic())
        let (number, start) = (opening, StreamStart(lastEventID: cursor))
        node.table.find(token) { [inbox, token, features, table = node.table, network = node.network] found in
            guard case .live(let session, let credential) = found else {
                return inbox.put(.stream(nil, .sessionEnded, opening: number))
            }
            let spaces = features.map { feature in
                StreamBundle.Named(Self.name(feature), [feature]) { open, refuse in
                    table.space(Self.name(feature), permit: { nil }) { found in
                        guard case .live(let space, _) = found else { return refuse(.evicted) }
                        open(space) { isOpen in
                            guard !isOpen else { return }
                            // Its owner has to make the store: as the HTTP layer asks for it.
                            let call = NodeCall(token: token, feature: feature, purpose: .state) { _ in
                                open(space) { isOpen in if !isOpen { refuse(.elsewhere) } }
                            }
                            NodeProcess.take(call, table, network)
                        }
                    }
                }
            }
            StreamBundle.open(session, [], spaces, from: start, for: SessionClient(credential)) { result in
                switch result {
                case .success(let stream): inbox.put(.stream(stream, nil, opening: number))
                case .failure(let error): inbox.put(.stream(nil, error, opening: number))
                }
            }
        }
    }

    private func opened(_ stream: StreamBundle?, _ error: StoreError?, _ number: Int) {
        guard number == opening else {
            stream?.closed()
            return
        }
        openingSince = nil
        if let error { log.tell("caller \(index) got no stream: \(error)") }
        guard let stream else { return }
        if let trust, let node = streamNode {
            isTrusted = trust.way.holds && node.clocks.source.monotonic() - trust.asked < .seconds(2)
        }
        reader = BundleReader(stream)
        shown = shown.mapValues { known in
            var known = known
            (known.isNew, known.version, known.entries, known.lastLabel) = (false, 0, nil, nil)
            return known
        }
    }

    func hangUp() {
        opening += 1
        openingSince = nil
        reader?.stream.closed()
        reader = nil
    }

    func lost(_ node: NodeProcess) {
        if streamNode === node { (opening, openingSince, reader) = (opening + 1, nil, nil) }
    }

    /// Reads what there is, as one whose socket takes everything.
    func read() {
        guard let reader, streamNode?.isStopped == false else { return }
        do {
            for event in try reader.parsed() { try take(event) }
        } catch {
            fault("the stream cannot be read: \(error)")
        }
        if reader.isOver { hangUp() }
    }

    private func take(_ event: ParsedEvent) throws {
        let data = String(decoding: event.data, as: UTF8.self)
        log.tell("caller \(index) is shown \(event.id ?? "-") \(event.name) \(data)")
        struct Body: Decodable {
            var feature: String?
            var features: [String]?
            var epoch: String?
            var version: UInt64?
            var id: String?
            var replay: Bool?
            var state: Board.State?
            var label: Board.Label?
            var count: Int?
            var viewers: [String]?
        }
        let body = try WireJSON.decode(Body.self, from: event.data)
        let feature = body.feature.flatMap { FeatureID($0) }
        switch event.name {
        case "hello":
            ownEpoch = body.epoch ?? ""
            begin(event.id ?? "")
            cursor = event.id
        case "state":
            if let feature, let version = body.version, let state = body.state { see(state, version, of: feature) }
        case "label":
            guard let feature, let id = body.id, case .said(let value)? = body.label else { break }
            see(label: id, of: feature, body.version ?? 0, body.replay == true)
            if !log.isMeant(index, isUser: isUser, by: value) { fault("the label of \(value) is not for it") }
        case "presence":
            guard let feature else { break }
            viewers[feature] = SpaceViewers(count: body.count ?? 0, users: body.viewers?.sorted() ?? [])
        case "reset":
            for name in (body.features ?? features.map(\.text)).compactMap({ SpaceName($0) }) {
                shown[name] = Shown(check: shown[name]?.check)
            }
        case "end":
            if let feature { (shown[Self.name(feature)], viewers[feature]) = (nil, nil) }
        case "denied":
            if let feature, isUser || !Self.isGuarded(feature) { fault("\(feature) was denied") }
        default: break
        }
        // That of `hello` is where the stream begins.
        if let id = event.id, event.name != "hello" { cover(id) }
    }

    /// The positions at which a stream began.
    private func begin(_ id: String) {
        let (old, new) = (BundleCursor(cursor ?? "", of: ownEpoch), BundleCursor(id, of: ownEpoch))
        for name in features.map(Self.name) {
            guard let part = new[name] else { continue }
            if let before = old[name] {
                // That of another log stays until the reset.
                if before.check != part.check || part.number < before.number {
                    fault("82: \(name.text) went from \(before) to \(part) without a reset")
                }
            } else {
                shown[name] = Shown(check: part.check, start: part.number, covered: part.number, isNew: true)
            }
        }
    }

    /// An id promises what each log has written.
    private func cover(_ id: String) {
        cursor = id
        let parts = BundleCursor(id, of: ownEpoch)
        for name in features.map(Self.name) {
            guard var known = shown[name], let part = parts[name] else { continue }
            defer { shown[name] = known }
            guard let start = known.start else {
                if part.check == known.check, isTrusted { fault("82: \(name.text) was reset and is the same log") }
                (known.check, known.start, known.covered) = (part.check, part.number, part.number)
                continue
            }
            if part.check != known.check { fault("82: \(name.text) is another log, without a reset") }
            if part.number < known.covered { fault("82: \(name.text) went from \(known.covered) to \(part.number)") }
            known.covered = max(known.covered, part.number)
            let missing = missing(known, of: name).filter { $0 > start && $0 <= part.number }
            if !missing.isEmpty { fault("82: \(id) covers labels of \(name.text) that were not shown: \(missing)") }
        }
    }

    /// The turns whose labels were kept for long enough and not shown.
    private func missing(_ known: Shown, of name: SpaceName) -> [UInt64] {
        guard let space = log[name], isCurrent(known, space) else { return [] }
        let now = log.time.value ?? .zero
        return space.labels.filter { id, label in
            now - label.time < Self.labelLife && !known.labels.contains(id)
                && log.isMeant(index, isUser: isUser, by: label.value)
        }.map(\.key.number)
    }

    /// Shorter than a label's life by what the nodes' clocks may differ.
    private static let labelLife: Duration = .seconds(200)

    private func isCurrent(_ known: Shown, _ space: SpaceLog.Space) -> Bool {
        let principal = subject.map { Principal(issuer: "i", subject: $0, claims: [:]) }
        return SpaceReader(principal).check(of: space.epoch) == known.check
    }

    private func see(_ state: Board.State, _ version: UInt64, of feature: FeatureID) {
        let name = Self.name(feature)
        // One that was late joins with it.
        var known = shown[name] ?? Shown(isNew: true)
        defer { shown[name] = known }
        if version < known.version { fault("\(feature) went back to version \(version)") }
        (known.version, known.entries) = (version, state.entries)
        if let space = log[name],
            space.views[version]?.contains(where: { seen($0, of: feature) == state.entries }) != true
        {
            fault("79, 85: version \(version) of \(feature) is shown as \(state.entries)")
        }
    }

    /// What the caller is to see.
    private func seen(_ entries: [Int], of feature: FeatureID) -> [Int] {
        feature.name == Parted.name ? Parted.entries(entries, isUser: isUser) : entries
    }

    private func see(label text: String, of feature: FeatureID, _ version: UInt64, _ isReplay: Bool) {
        let (name, numbers) = (Self.name(feature), text.split(separator: ".").suffix(2).compactMap { UInt64($0) })
        guard numbers.count == 2, var known = shown[name] else { return fault("a label's id: \(text)") }
        defer { shown[name] = known }
        let id = LabelID(number: numbers[0], index: Int(numbers[1]))
        if known.version < version { fault("the label \(text) came before version \(version)") }
        if let last = known.lastLabel, last >= id { fault("the label \(text) came after \(last)") }
        known.lastLabel = id
        if known.isNew, isReplay { fault("83: a newcomer is shown the earlier label \(text)") }
        guard let start = known.start else { return }
        if id.number <= start { fault("83: the label \(text) is from before the stream's beginning at \(start)") }
        if id.number <= known.covered { fault("82: the label \(text) came again, after \(known.covered)") }
        known.labels.insert(id)
    }

    // MARK: The end

    /// Forgets what a lost space has answered.
    func lost(_ name: SpaceName) { open.removeAll { Self.name($0.feature) == name } }

    func check() {
        if !open.isEmpty { fault("was never answered: \(open)") }
        guard reader != nil else { return fault("has no stream") }
        for feature in features where isUser || !Self.isGuarded(feature) {
            guard let space = log[Self.name(feature)], let known = shown[Self.name(feature)] else { continue }
            if known.entries ?? [] != seen(space.entries, of: feature) {
                fault("79, 85: \(feature) has \(space.entries) and is shown as \(String(describing: known.entries))")
            }
            if let (version, losses) = answered[Self.name(feature)], losses == space.losses, known.version < version {
                fault("85: version \(version) of \(feature) was answered and never shown")
            }
            if !isCurrent(known, space) { fault("82: \(feature) is shown from another log") }
            let missing = missing(known, of: Self.name(feature)).filter { $0 > known.start ?? .max }
            if !missing.isEmpty { fault("83: labels of \(feature) never came: \(missing)") }
        }
    }
}
