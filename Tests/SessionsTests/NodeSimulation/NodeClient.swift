import EventStream
import Locking
import MVI
import SessionJournal
import Sessions
import WireJSON

@testable import Sessions

/// A client that sends its intents to any node, repeats them until they are answered, reads states, and checks all
/// guarantees.
final class NodeClient: NodeUser {
    /// The kind of names of its intents.
    enum Naming { case keys, numbers, nothing }

    let token: SessionToken
    let session: SessionOfClients
    let naming: Naming
    private var epoch: String
    private let log: CommitLog
    private let inbox = Inbox<Item>()
    private(set) var open: [Request] = []
    private(set) var acknowledged: [Int: FeatureID] = [:]
    private(set) var refused: Set<Int> = []
    private var sequence: UInt64 = 0
    private(set) var faults: [String] = []
    private var lastRefusal = "none"
    private(set) var hasEnded = false
    /// True if the journal went back once: then a log may start again under the client.
    private var hasGoneBack = false
    /// The epoch of the last `hello` or cursor.
    private var shownEpoch = ""

    // Values from the streams.
    private(set) var stream: TestStream?
    private(set) var streamNode: NodeProcess?
    private var opening = 0
    private var openingSince: Duration?
    private var cursor: String?
    private var lastID: UInt64 = 0
    private var lastLabel: LabelID?
    /// The versions from this stream, and from all streams.
    private(set) var shown: [FeatureID: UInt64] = [:]
    private(set) var labels: [LabelID: Int] = [:]
    private var openTrust: Trust?
    /// True if a stream said that labels may be missing.
    private(set) var isExcused = false
    private(set) var streamsOpened = 0

    init(_ session: SessionOfClients, _ naming: Naming, epoch: String, _ log: CommitLog) {
        (token, self.session, self.naming, self.epoch, self.log) = (session.token, session, naming, epoch, log)
    }

    private func fault(_ text: String) { faults.append(text) }

    /// Handles the loss of the latest commits: earlier guarantees are void. The client starts again on its stream.
    func goBack() {
        receive()
        (open, acknowledged, refused, sequence) = ([], [:], [], 0)
        epoch += "x"
        hasGoneBack = true
        isExcused = true
    }

    // MARK: Intents

    /// Creates a request, unless there are too many.
    func intend(_ random: inout SplitMix) {
        guard open.count < (naming == .numbers ? 1 : 3), session.numbers < session.limit else { return }
        session.numbers += 1
        let number = session.numbers
        let feature = session.features[Int(random.next() % UInt64(session.features.count))]
        var name: IntentRequest.Name?
        switch naming {
        case .nothing: break
        case .keys: name = .key("k\(number)")
        case .numbers:
            sequence += 1
            name = .sequence(sequence, epoch: epoch)
        }
        var ifMatch: (epoch: String, version: UInt64)?
        var body = ""
        switch random.next() % 10 {
        case 0..<3: body = #"{"type":"enter","value":\#(number)}"#
        case 3..<5: body = #"{"type":"say","value":\#(number)}"#
        case 5..<7: body = #"{"type":"work","value":\#(number)}"#
        case 7: body = #"{"type":"remind","value":\#(number)}"#
        default:
            if let (epoch, version, seen) = session.known[feature] {
                ifMatch = (epoch, version)
                body = #"{"type":"match","number":\#(number),"seen":\#(seen)}"#
            } else {
                body = #"{"type":"say","value":\#(number)}"#
            }
        }
        open.append(Request(number: number, feature: feature, body: body, name: name, ifMatch: ifMatch))
    }

    /// Sends the waiting requests to a node. A request without a name is sent once.
    ///
    /// - Parameter nodes: all of them. Any may own the session, and gets the request then.
    func send(_ random: inout SplitMix, to node: NodeProcess, of nodes: [NodeProcess], now: Duration) {
        let waiting = open.indices.filter { open[$0].sent == nil }
        guard !waiting.isEmpty, !node.isStopped else { return }
        let index = waiting[Int(random.next() % UInt64(waiting.count))]
        open[index].sent = now
        open[index].tries += 1
        open[index].floor = session.floors[open[index].feature] ?? 0
        open[index].trust = nodes.map { Trust($0.way) }
        log.tell("client \(epoch) sends \(open[index].number) to life \(node.life)")
        let request = open[index]
        node.take(
            NodeCall(
                token: token, feature: request.feature,
                purpose: .intent(IntentRequest(body: Array(request.body.utf8), name: request.name)),
                ifMatch: request.ifMatch
            ) { [inbox, number = request.number, tries = request.tries] result in
                inbox.put(.answer(number: number, tries: tries, result))
            })
    }

    /// Stops waiting for old requests.
    func lookAtClock(now: Duration, patience: Duration) {
        for index in open.indices.reversed() {
            guard let sent = open[index].sent, now - sent >= patience else { continue }
            if open[index].name == nil {
                open.remove(at: index)
            } else {
                open[index].sent = nil
            }
        }
        if let since = openingSince, now - since >= patience { (opening, openingSince) = (opening + 1, nil) }
    }

    func receive() {
        for item in inbox.take() {
            switch item {
            case .answer(let number, let tries, let result): answered(number, tries, result)
            case .state(let feature, let floor, let result, let isTrusted):
                stateCame(of: feature, floor: floor, result, isTrusted: isTrusted.value ?? false)
            case .stream(let stream, let number): opened(stream, number)
            }
        }
    }

    private func answered(_ number: Int, _ tries: Int, _ answer: NodeAnswer) {
        guard let index = open.firstIndex(where: { $0.number == number }) else { return }
        let request = open[index]
        log.tell("client \(epoch) heard of \(number), \(tries). try of \(request.tries): \(answer)")
        guard request.tries == tries else { return }
        switch answer.result {
        case .success(let outcome?):
            open.remove(at: index)
            acknowledged[number] = request.feature
            let isLasting = !session.disposable.contains(request.feature)
            if isLasting, !hasGoneBack, log.history(token.hash).ran[number] != 1 {
                fault("intent \(number) was acknowledged and not kept")
            }
            guard let state = outcome.state else {
                // Appends before the end of the session are valid; clients get its state no more.
                if !outcome.isWithheld || !session.isEnding { fault("an answer without a state") }
                return
            }
            let isTrusted = !outcome.isReplayed || request.trust.allSatisfy(\.holds)
            if !hasGoneBack, isTrusted, state.version < request.floor, request.name != nil || !outcome.isReplayed {
                fault("\(request.feature): an answer of version \(state.version) came after version \(request.floor)")
            }
            if let view = see(state, of: request.feature), isLasting, isTrusted, !hasGoneBack,
                !view.log.entries.contains(number)
            {
                fault("the state of version \(state.version) after intent \(number) has it not: \(view.log.entries)")
            }
        case .success(nil): fault("no outcome")
        case .failure(let error) where error.code == .preconditionFailed:
            open.remove(at: index)
            refused.insert(number)
            if request.ifMatch == nil { fault("a precondition failed that was not asked for") }
            if naming == .numbers { sequence -= 1 }
        case .failure(let error):
            lastRefusal = "\(number): \(error.code) \(error)"
            if session.isEnding, error.code == .gone {
                hasEnded = true
                open = []
                return
            }
            let isForNow: Set<StoreError.Code> = [
                .unavailable, .contended, .newerState, .evicted, .full, .busy, .receiptPending, .elsewhere, .disposed,
            ]
            // An earlier try of a refused request with this number may still be running.
            let isReused = naming == .numbers && error.code == .receiptConflict
            if !isForNow.contains(error.code), !isReused {
                fault("intent \(number) was refused for good: \(error.code) \(error)")
            }
            if request.name == nil { open.remove(at: index) } else { open[index].sent = nil }
        }
    }

    private func see(_ state: StateSnapshot, of feature: FeatureID) -> CommitLog.View? {
        guard let view = try? WireJSON.decode(CommitLog.View.self, from: state.view) else {
            fault("a view of \(feature) cannot be read")
            return nil
        }
        log.see(view, of: feature, version: state.version, epoch: state.epoch, in: token.hash)
        session.floors[feature] = max(session.floors[feature] ?? 0, state.version)
        if state.version >= session.known[feature]?.version ?? 0 {
            session.known[feature] = (state.epoch, state.version, view.log.entries.count)
        }
        return view
    }

    // MARK: States

    func readState(_ random: inout SplitMix, of node: NodeProcess) {
        guard !node.isStopped else { return }
        let feature = session.features[Int(random.next() % UInt64(session.features.count))]
        // A read creates the store; other tests read before the first intent.
        guard let floor = session.floors[feature] else { return }
        let (trust, time) = (Trust(node.way), node.clocks.source)
        let asked = time.monotonic()
        node.take(
            NodeCall(token: token, feature: feature, purpose: .state) {
                [inbox] answer in
                let isTrusted = Box<Bool>()
                // A journal that is silent for two seconds counts as unreachable.
                isTrusted.set(trust.holds && time.monotonic() - asked < .seconds(2))
                inbox.put(.state(feature, floor: floor, answer, isTrusted))
            })
    }

    private func stateCame(
        of feature: FeatureID, floor: UInt64, _ answer: NodeAnswer, isTrusted: Bool
    ) {
        guard case .success(let outcome?) = answer.result, let state = outcome.state else { return }
        if isTrusted, !hasGoneBack, state.version < floor, !session.disposable.contains(feature) {
            fault("\(feature): a state of version \(state.version) was read after version \(floor) was known")
        }
        _ = see(state, of: feature)
    }

    func remove(_ feature: FeatureID, on node: NodeProcess) {
        guard !node.isStopped else { return }
        node.take(NodeCall(token: token, feature: feature, purpose: .removal) { _ in })
    }

    // MARK: The stream

    func openStream(on node: NodeProcess, now: Duration) {
        guard stream == nil, openingSince == nil, !node.isStopped, !hasEnded else { return }
        (opening, openingSince) = (opening + 1, now)
        streamNode = node
        openTrust = Trust(node.way)
        let number = opening
        let start = StreamStart(lastEventID: cursor ?? "earliest")
        node.table.find(token) { [inbox] found in
            guard case .live(let session, _) = found else { return inbox.put(.stream(nil, opening: number)) }
            session.openStream(.all, from: start) { result in
                inbox.put(.stream((try? result.get()).map { TestStream($0) }, opening: number))
            }
        }
    }

    private func opened(_ stream: TestStream?, _ number: Int) {
        guard number == opening else {
            stream?.stream.closed()
            return
        }
        openingSince = nil
        guard let stream else { return }
        self.stream = stream
        streamsOpened += 1
        (shown, lastID, lastLabel) = ([:], 0, nil)
    }

    func hangUp() {
        opening += 1
        openingSince = nil
        stream?.stream.closed()
        stream = nil
    }

    /// Handles the end of a node.
    func lost(_ node: NodeProcess) {
        guard streamNode === node else { return }
        opening += 1
        openingSince = nil
        stream = nil
    }

    func read() {
        guard let stream, streamNode?.isStopped == false else { return }
        do {
            for event in try stream.readBatch() ?? [] { try take(event) }
        } catch {
            fault("the stream cannot be read: \(error)")
        }
    }

    private func take(_ event: ParsedEvent) throws {
        if let id = event.id, let read = Cursor(id) {
            if read.epoch == shownEpoch, read.sequence < lastID {
                fault("ids went back from \(lastID) to \(read.sequence)")
            }
            (lastID, shownEpoch) = (read.sequence, read.epoch)
            cursor = id
        }
        let data = String(decoding: event.data, as: UTF8.self)
        log.tell("client \(epoch) is shown \(event.id ?? "-") \(event.name) \(data)")
        switch event.name {
        case "state":
            struct Shown: Decodable {
                var feature: String
                var version: UInt64
                var state: CommitLog.View
            }
            let state = try WireJSON.decode(Shown.self, from: event.data)
            guard let feature = FeatureID(state.feature) else { return fault("a state of \(state.feature)") }
            if state.version < shown[feature] ?? 0 {
                fault("\(feature) went back to version \(state.version) on one stream")
            }
            shown[feature] = state.version
            log.see(state.state, of: feature, version: state.version, epoch: shownEpoch, in: token.hash)
            session.floors[feature] = max(session.floors[feature] ?? 0, state.version)
        case "label":
            struct Shown: Decodable {
                struct Label: Decodable { var value: Int }
                var feature: String
                var version: UInt64
                var id: String
                var label: Label
            }
            let label = try WireJSON.decode(Shown.self, from: event.data)
            let numbers = label.id.split(separator: ".").suffix(2).compactMap { UInt64($0) }
            guard numbers.count == 2, let feature = FeatureID(label.feature) else {
                return fault("a label's id: \(label.id)")
            }
            let id = LabelID(number: numbers[0], index: Int(numbers[1]))
            if !hasGoneBack, let before = labels[id], before != label.label.value {
                fault("the label \(id) was \(before) and is \(label.label.value)")
            }
            if !hasGoneBack, log.history(token.hash).labels[id] != label.label.value {
                fault("the label \(id) was not kept")
            }
            if let lastLabel, lastLabel >= id { fault("the label \(id) came after \(lastLabel)") }
            // A disposed store leaves its labels.
            if shown[feature] ?? 0 < label.version, !session.disposable.contains(feature) {
                fault(
                    "the label \(id) of version \(label.version) came after version \(shown[feature] ?? 0) of \(feature)"
                )
            }
            lastLabel = id
            labels[id] = label.label.value
        case "goaway":
            if session.isEnding, data.contains("ended") { hasEnded = true }
            hangUp()
        case "reset":
            // A node that cannot reach the journal does not know cursors of later turns.
            if hasGoneBack {
                (shown, lastLabel, labels, lastID) = ([:], nil, [:], 0)
                // The next id has the epoch of the log. Until then it may differ from the one after other resets.
                shownEpoch = "after \(shownEpoch) for \(epoch), \(opening)"
            } else if openTrust?.holds == true || !data.contains("unknown-cursor") {
                fault("a reset: \(data)")
            }
            if data.contains(#""labelsLost":true"#) { isExcused = true }
        default: break
        }
    }

    // MARK: The end

    func check() {
        for request in open {
            fault("intent \(request.number) was never answered; the last refusal was \(lastRefusal)")
        }
        let history = log.history(token.hash)
        for number in refused where history.ran[number] != nil { fault("intent \(number) was refused and ran") }
        for (number, feature) in acknowledged where !session.disposable.contains(feature) && history.ran[number] != 1 {
            fault("intent \(number) was acknowledged and lost")
        }
        guard stream != nil else { return fault("it has no stream") }
        if !isExcused {
            let missing = history.labels.filter { labels[$0.key] == nil }
            if !missing.isEmpty { fault("labels never came: \(missing)") }
        }
        for (feature, store) in history.stores where shown[feature] != store.version {
            fault("the stream shows version \(shown[feature] ?? 0) of \(feature), and version \(store.version) is kept")
        }
    }
}
