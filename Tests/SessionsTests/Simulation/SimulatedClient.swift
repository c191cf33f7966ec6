import EventStream
import Locking
import MVI
import SessionJournal
import Sessions
import WireJSON

/// The results for a client, until it reads them.
final class ClientInbox: Sendable {
    enum Item: Sendable {
        case answer(SimulatedClient.Request, IntentResult)
        /// Nil if there is none.
        case stream(TestStream?, node: Int, life: Int)
        case fault(String)
    }

    private let items = Lock<[Item]>([])

    func put(_ item: Item) { items.withLock { $0.append(item) } }

    func take() -> [Item] {
        items.withLock { items in
            defer { items = [] }
            return items
        }
    }
}

/// One client with a session: it sends intents with keys or numbers, repeats them until they are answered, and checks
/// all guarantees.
final class SimulatedClient {
    struct Request: Sendable {
        let number: Int
        let type: String
        let name: IntentRequest.Name
        let feature: FeatureID
        var isUnderWay = false
        /// The connection of the last attempt.
        var life = 0
    }

    let inbox = ClientInbox()
    /// Grows when the connections break.
    private(set) var life = 0

    let token: SessionToken
    let features: [FeatureID]
    /// False for a client that numbers its intents.
    let usesKeys: Bool
    private(set) var open: [Request] = []
    /// The intents that were answered with success.
    private(set) var acknowledged: [FeatureID: [Int]] = [:]
    private(set) var failed: Set<Int> = []
    /// The numbers of the intents that publish a label.
    private var saying: Set<Int> = []
    private(set) var faults: [String] = []
    private(set) var replays = 0
    private var lastNumber = 0
    private var sent: UInt64 = 0

    /// True if streams may be of several processes, which may not know all that this client got.
    private let hasManyNodes: Bool

    // Values from the streams.
    private var stream: TestStream?
    private var node = 0
    private var cursor: String?
    private var lastID: UInt64 = 0
    /// The versions by process: one of several may lag behind another.
    private var versions: [Int: [FeatureID: UInt64]] = [:]
    private var witness = StreamWitness()
    private(set) var labels: [String: Int] = [:]
    private(set) var streamsOpened = 0

    init(token: SessionToken, features: [FeatureID], usesKeys: Bool, hasManyNodes: Bool) {
        self.hasManyNodes = hasManyNodes
        self.token = token
        self.features = features
        self.usesKeys = usesKeys
    }

    private func fault(_ text: String) { faults.append(text) }

    /// The faults in the order of the streams' events.
    var orderFaults: [String] { witness.faults }

    /// Handles the received results. Results of a broken connection are ignored.
    func receive() {
        for item in inbox.take() {
            switch item {
            case .answer(let request, let result): if request.life == life { answered(request, result) }
            case .stream(let stream, let node, let life):
                if life == self.life { opened(stream, node: node) } else { stream?.stream.closed() }
            case .fault(let text): fault(text)
            }
        }
    }

    func gaveUp() { fault("\(open.map(\.name)) were never answered; the last refusal was \(lastRefusal)") }

    private var lastRefusal = "none"

    // MARK: Intents

    /// Creates a request. A client with numbers has one at a time.
    func intend(_ random: inout SplitMix, limit: Int) {
        guard open.count < (usesKeys ? 3 : 1), lastNumber < limit else { return }
        lastNumber += 1
        let types = ["enter", "enter", "say", "say", "work", "fail"]
        let type = types[Int(random.next() % UInt64(types.count))]
        let feature = features[Int(random.next() % UInt64(features.count))]
        sent += 1
        if type == "say" { saying.insert(lastNumber) }
        open.append(
            Request(
                number: lastNumber, type: type,
                name: usesKeys ? .key("k\(lastNumber)") : .sequence(sent, epoch: "client"), feature: feature))
    }

    /// Returns the next waiting request, if there is one.
    func next(_ random: inout SplitMix) -> Request? {
        let waiting = open.indices.filter { !open[$0].isUnderWay }
        guard !waiting.isEmpty else { return nil }
        let index = waiting[Int(random.next() % UInt64(waiting.count))]
        open[index].isUnderWay = true
        open[index].life = life
        return open[index]
    }

    private func answered(_ request: Request, _ result: IntentResult) {
        guard let index = open.firstIndex(where: { $0.number == request.number }) else { return }
        switch result {
        case .success(let reply):
            if reply.isReplayed { replays += 1 }
            do { try witness.see(reply, of: request.feature) } catch { fault("a reply cannot be read: \(error)") }
            acknowledged[request.feature, default: []].append(request.number)
            open.remove(at: index)
            if request.type == "fail" { fault("an intent that throws succeeded") }
        case .failure where result.told == "failed":
            failed.insert(request.number)
            open.remove(at: index)
            // A server fault does not consume a number: the next intent has the same.
            if !usesKeys { sent -= 1 }
            if request.type != "fail" { fault("an intent that does not throw failed") }
        case .failure:
            open[index].isUnderWay = false
            lastRefusal = "\(request.name): \(result.told)"
            if !result.isForNow { fault("\(request.name) was refused for good: \(result.told)") }
        }
    }

    /// Returns the labels that must have arrived if these intents ran.
    func expectedLabels(among numbers: Set<Int>) -> Set<Int> { saying.intersection(numbers) }

    /// Handles the end of a process, possibly the one that was answering.
    func disconnected(from lost: Int) {
        life += 1
        isOpening = false
        for index in open.indices { open[index].isUnderWay = false }
        if node == lost { stream = nil } else { hangUp() }
    }

    // MARK: The stream

    private var isOpening = false
    /// The start of the next stream; nil if there is a stream or one is being opened.
    func wantsStream() -> StreamStart? {
        guard stream == nil, !isOpening else { return nil }
        isOpening = true
        return StreamStart(lastEventID: cursor ?? "earliest")
    }

    private func opened(_ stream: TestStream?, node: Int) {
        isOpening = false
        guard let stream else { return }
        streamsOpened += 1
        self.stream?.stream.closed()
        self.stream = stream
        self.node = node
        if hasManyNodes { lastID = 0 }
        witness.opened()
    }

    func hangUp() {
        stream?.stream.closed()
        stream = nil
    }

    func read() {
        guard let stream else { return }
        do {
            // A batch arrives whole or not at all for a client that stores an event's id after the whole event.
            for event in try stream.readBatch() ?? [] { try take(event) }
        } catch {
            fault("the stream cannot be read: \(error)")
        }
    }

    private func take(_ event: ParsedEvent) throws {
        if let id = event.id, let read = Cursor(id) {
            if read.sequence < lastID { fault("ids went back from \(lastID) to \(read.sequence)") }
            lastID = read.sequence
            cursor = id
        }
        try witness.see(event)
        switch event.name {
        case "state":
            struct Shown: Decodable {
                var feature: String
                var version: UInt64
            }
            let shown = try WireJSON.decode(Shown.self, from: event.data)
            guard let feature = FeatureID(shown.feature) else { return fault("a state of \(shown.feature)") }
            if let before = versions[node]?[feature], shown.version < before {
                fault("\(feature) went back from version \(before) to \(shown.version)")
            }
            versions[node, default: [:]][feature] = shown.version
        case "label":
            struct Shown: Decodable {
                struct Label: Decodable {
                    var type: String
                    var value: Int
                }
                var id: String
                var label: Label
            }
            let shown = try WireJSON.decode(Shown.self, from: event.data)
            if let before = labels[shown.id], before != shown.label.value {
                fault("the label \(shown.id) was \(before) and is \(shown.label.value)")
            }
            labels[shown.id] = shown.label.value
        case "goaway": hangUp()
        case "reset":
            let text = String(decoding: event.data, as: UTF8.self)
            // A process that does not know another's turns does not know their cursors either.
            if !hasManyNodes || !text.contains("unknown-cursor") { fault("a reset: \(text)") }
        default: break
        }
    }
}
