import NIOCore
import Synchronization

/// One client's stores, streams and labels behind one lock: a turn holds it for a few hundred nanoseconds.
final class Session: Sendable {
    struct Stream {
        let features: [String]
        let continuation: AsyncStream<ByteBuffer>.Continuation
        var isQuiet = false
    }

    struct Content {
        var stores: [String: Store] = [:]
        var streams: [Int: Stream] = [:]
        var nextStream = 0
        var sequence = 0
        var labels: [Label] = []
    }

    /// The number of labels that are kept for disconnected streams.
    static let keptLabels = 64

    let id: String
    let token: String
    let epoch = Random.text(bytes: 8)
    private let content = Mutex(Content())

    init(id: String = Random.text(bytes: 8), token: String = Random.text(bytes: 32)) {
        self.id = id
        self.token = token
    }

    /// A feature's newest state; nil if there is no such feature.
    func store(_ feature: String) -> Store? {
        content.withLock { $0.stores[feature] } ?? Store(feature: feature)
    }

    /// Adds to a feature's count and sends it to the streams; returns the answer, or nil if there is no such feature.
    func add(_ amount: Int, to feature: String) -> String? {
        let intent = Random.text(bytes: 8)
        return content.withLock { content in
            guard var store = content.stores[feature] ?? Store(feature: feature) else { return nil }
            store.add(amount, intent: intent)
            show(store, &content)
            return acceptance(store)
        }
    }

    /// Makes this a feature's state and sends it to the streams.
    func show(_ store: Store) { content.withLock { show(store, &$0) } }

    /// The answer to the intent that made this state.
    func acceptance(_ store: Store) -> String {
        "{\"intent\":\"\(store.intent ?? "")\",\"session\":\"\(id)\",\"feature\":\"\(store.feature)\",\"version\":\(store.version)}"
    }

    private func show(_ store: Store, _ content: inout Content) {
        content.stores[store.feature] = store
        content.sequence += 1
        var events = ""
        let cursor = Cursor(epoch: epoch, sequence: content.sequence)
        if store.count != 0, store.count.isMultiple(of: 10) {
            let label = Label(
                feature: store.feature, version: store.version, intent: store.intent ?? "",
                sequence: content.sequence, count: store.count)
            store.appendState(to: &events, cursor: nil)
            label.append(to: &events, cursor: cursor, replayed: false)
            if content.labels.count == Self.keptLabels { content.labels.removeFirst() }
            content.labels.append(label)
        } else {
            store.appendState(to: &events, cursor: cursor)
        }
        let buffer = ByteBuffer(string: events)
        for (key, stream) in content.streams where stream.features.contains(store.feature) {
            stream.continuation.yield(buffer)
            content.streams[key]?.isQuiet = false
        }
    }

    /// Opens a stream of these features from `lastEventID` on; nil if one of them does not exist.
    func open(_ features: [String], lastEventID: String?) -> AsyncStream<ByteBuffer>? {
        content.withLock { content in
            for feature in features where content.stores[feature] == nil {
                guard let store = Store(feature: feature) else { return nil }
                content.stores[feature] = store
            }
            let head = Cursor(epoch: epoch, sequence: content.sequence)
            let resumed = lastEventID.flatMap { Cursor($0, epoch: epoch) }
            let start = resumed ?? head
            let labels = content.labels.filter { $0.sequence > start.sequence && features.contains($0.feature) }
            let list = features.map { "\"\($0)\"" }.joined(separator: ",")
            var events = ": ok\nretry: 2750\n\nid: \(start)\nevent: hello\ndata: {\"session\":\"\(id)\""
            events += ",\"epoch\":\"\(epoch)\",\"resumed\":\(resumed != nil),\"cursor\":\"\(start)\""
            events += ",\"heartbeat\":20,\"features\":[\(list)]}\n\n"
            for (index, feature) in features.enumerated() {
                let isLast = index == features.count - 1 && labels.isEmpty
                content.stores[feature]?.appendState(to: &events, cursor: isLast ? head : nil)
            }
            for (index, label) in labels.enumerated() {
                let isLast = index == labels.count - 1
                label.append(
                    to: &events, cursor: isLast ? head : Cursor(epoch: epoch, sequence: label.sequence),
                    replayed: true)
            }
            let (stream, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
            let key = content.nextStream
            content.nextStream += 1
            content.streams[key] = Stream(features: features, continuation: continuation)
            continuation.onTermination = { [weak self] _ in
                self?.content.withLock { _ = $0.streams.removeValue(forKey: key) }
            }
            continuation.yield(ByteBuffer(string: events))
            return stream
        }
    }

    /// Sends a ping to every stream that was idle since the last call.
    func ping(_ event: ByteBuffer) {
        content.withLock { content in
            for (key, stream) in content.streams {
                if stream.isQuiet { stream.continuation.yield(event) }
                content.streams[key]?.isQuiet = true
            }
        }
    }
}
