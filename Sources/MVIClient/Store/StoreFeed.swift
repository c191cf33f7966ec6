import Locking
import WireJSON

/// Passes the deliveries of one store to its readers. Each one is decoded once.
///
/// Deliveries come one at a time; listeners are added and removed on any thread.
final class StoreFeed<State: Decodable & Sendable, Label: Decodable & Sendable>: Sendable {
    /// The values that a view shows.
    struct Picture: Sendable {
        var state: State?
        var availability = Availability.unknown
        /// The error of the last intent of `post`.
        var failure: RemoteError?
    }

    private struct Contents {
        var picture = Picture()
        var states: [UInt64: AsyncStream<State>.Continuation] = [:]
        var labels: [UInt64: AsyncStream<Label>.Continuation] = [:]
        /// The labels that arrived while no sequence was iterated.
        var waitingLabels: [Label] = []
    }

    /// The maximum number of labels that wait without a listener, and for a slow one; the oldest are dropped first.
    static var labelLimit: Int { 1_000 }

    private let feature: String
    private let core: ClientCore
    private let report: @Sendable (String) -> Void
    private let number: UInt64
    private let contents = Lock(Contents())
    private let changed = Lock<@Sendable (Picture) -> Void>({ _ in })

    init(feature: String, core: ClientCore, report: @escaping @Sendable (String) -> Void) {
        self.feature = feature
        self.core = core
        self.report = report
        number = core.number()
    }

    /// Sets the callback that receives each new picture, in order.
    func onChange(_ changed: @escaping @Sendable (Picture) -> Void) { self.changed.withLock { $0 = changed } }

    // MARK: Listeners

    /// The present state, if there is one, and later ones. A slow listener gets only the newest.
    ///
    /// - Parameter owner: retained as long as the sequence.
    func states(keeping owner: RemoteServer) -> AsyncStream<State> {
        let (stream, continuation) = AsyncStream.makeStream(of: State.self, bufferingPolicy: .bufferingNewest(1))
        let listener = core.number()
        contents.withLock { contents in
            contents.states[listener] = continuation
            // No task can wait for it yet, so none is resumed.
            if let state = contents.picture.state { continuation.yield(state) }
        }
        continuation.onTermination = { [self, owner] _ in
            defer { withExtendedLifetime(owner) {} }
            contents.withLock { _ = $0.states.removeValue(forKey: listener) }
            core.unwatch(feature, by: number)
        }
        watch()
        return stream
    }

    /// The labels that arrived while no sequence was iterated, and later ones.
    ///
    /// - Parameter owner: retained as long as the sequence.
    func labels(keeping owner: RemoteServer) -> AsyncStream<Label> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Label.self, bufferingPolicy: .bufferingNewest(Self.labelLimit))
        let listener = core.number()
        contents.withLock { contents in
            contents.labels[listener] = continuation
            // As above.
            for label in contents.waitingLabels { continuation.yield(label) }
            contents.waitingLabels = []
        }
        continuation.onTermination = { [self, owner] _ in
            defer { withExtendedLifetime(owner) {} }
            contents.withLock { _ = $0.labels.removeValue(forKey: listener) }
            core.unwatch(feature, by: number)
        }
        watch()
        return stream
    }

    private func watch() {
        core.watch(feature, by: number, ClientCore.Sink(deliver: { self.receive($0) }, finish: { self.finish() }))
    }

    private func finish() {
        let (states, labels) = contents.withLock { ($0.states.values.map(\.self), $0.labels.values.map(\.self)) }
        for listener in states { listener.finish() }
        for listener in labels { listener.finish() }
    }

    // MARK: Deliveries

    private func receive(_ delivery: IntentDelivery) {
        switch delivery {
        case .state(_, let bytes):
            do throws(WireDecodingError) {
                let state = try WireJSON.decode(State.self, from: bytes)
                let listeners = change { contents in
                    contents.picture.state = state
                    contents.picture.availability = .shown
                    return contents.states.values.map(\.self)
                }
                for listener in listeners { listener.yield(state) }
            } catch {
                report("A state of \"\(feature)\" does not match the app's type: \(error)")
            }
        case .label(let label):
            do throws(WireDecodingError) {
                let label = try WireJSON.decode(Label.self, from: label.label)
                let (listeners, isLost) = contents.withLock { contents in
                    let listeners = contents.labels.values.map(\.self)
                    if listeners.isEmpty { contents.waitingLabels.append(label) }
                    guard contents.waitingLabels.count > Self.labelLimit else { return (listeners, false) }
                    contents.waitingLabels.removeFirst()
                    return (listeners, true)
                }
                for listener in listeners { listener.yield(label) }
                if isLost { report("No task reads the labels of \"\(feature)\". The oldest is dropped.") }
            } catch {
                report("A label of \"\(feature)\" does not match the app's type: \(error)")
            }
        case .ended: change { $0.picture.availability = .ended }
        case .denied: change { $0.picture.availability = .denied }
        case .missing: change { $0.picture.availability = .missing }
        case .reset(let reason, let labelsLost):
            if labelsLost { report("Labels of \"\(feature)\" may be lost: \(reason).") }
        }
    }

    /// Notes the result of a posted intent.
    func note(_ failure: RemoteError?) {
        let isNews = contents.withLock { $0.picture.failure != failure }
        if isNews { change { $0.picture.failure = failure } }
        if let failure { report("An intent for \"\(feature)\" failed: \(failure)") }
    }

    @discardableResult
    private func change<Result>(_ change: (inout Contents) -> Result) -> Result {
        let (result, picture) = contents.withLock { contents in
            let result = change(&contents)
            return (result, contents.picture)
        }
        changed.withLock { $0 }(picture)
        return result
    }
}
