import Observation
import WireJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One feature of a server: shows its states, hands over its labels, takes intents.
///
/// The type parameters are the view state, the intent and the label as the app knows them: any types whose JSON is the
/// wire's. Where app and server share the feature itself, ``RemoteStoreOf`` names the same store by it.
///
/// ```swift
/// let server = RemoteServer(url)
/// let counter = RemoteStore<CounterState, CounterIntent, CounterLabel>("counter", on: server)
/// for await state in counter.states { print(state.count) }
/// ```
///
/// The store is watched, that is part of the server's stream, while a task is in ``watch()`` or somebody iterates
/// ``states`` or ``labels``. The object is observable: a view that reads ``state`` is drawn again when it changes. Its
/// properties change on the main actor; its functions may be called from any thread.
@MainActor
@Observable
public final class RemoteStore<
    State: Decodable & Sendable, Intent: Encodable & Sendable, Label: Decodable & Sendable
> {
    /// The newest view state; nil until the first was shown. It stays when the connection is lost and when the store is
    /// not watched any more.
    public private(set) var state: State?
    /// True if the store can be seen.
    public private(set) var availability = Availability.unknown
    /// The error of the last intent of ``post(_:)``; nil if it succeeded.
    public private(set) var failure: RemoteError?

    /// The feature's id on the wire, with its key: `counter`, `order:42`.
    @ObservationIgnored public nonisolated let feature: String
    /// The server that has the store.
    @ObservationIgnored public nonisolated let server: RemoteServer

    @ObservationIgnored private nonisolated let feed: StoreFeed<State, Label>

    /// The store of a feature. Asks the server for nothing.
    ///
    /// - Parameter feature: the feature's id on the wire, with its key if it is served under keys: `order:42`.
    public nonisolated init(_ feature: String, on server: RemoteServer) {
        self.feature = feature
        self.server = server
        feed = StoreFeed(feature: feature, core: server.core, report: server.report)
        let newest = Newest<StoreFeed<State, Label>.Picture>()
        feed.onChange { [weak self] picture in
            guard newest.put(picture) else { return }
            Task { @MainActor in
                if let picture = newest.take() { self?.show(picture) }
            }
        }
    }

    private func show(_ picture: StoreFeed<State, Label>.Picture) {
        state = picture.state
        if availability != picture.availability { availability = picture.availability }
        if failure != picture.failure { failure = picture.failure }
    }

    // MARK: Looking

    /// Watches the store until the calling task is cancelled or the server is closed: for a view's `task`.
    public nonisolated func watch() async {
        for await _ in states {}
    }

    /// The newest state, if there is one, and those that follow, as long as it is iterated. A slow reader misses states,
    /// never the newest one.
    public nonisolated var states: AsyncStream<State> { feed.states(keeping: server) }

    /// The labels, each once, as long as it is iterated. Labels that came while no task iterated are first; 1,000 wait at
    /// most. Each reader gets all labels that come while it reads.
    public nonisolated var labels: AsyncStream<Label> { feed.labels(keeping: server) }

    // MARK: Intents

    /// Sends an intent, and returns when the server has committed it.
    ///
    /// Intents of all stores of the server are sent one after the other, in the order of the calls. One without an
    /// answer is repeated and runs once, over lost networks, restarts and lost sessions, until the options' `patience`
    /// is over. It never runs in another user's session.
    ///
    /// - Parameter completion: `.shown` to return when, beyond that, this store has shown a state that is not older.
    /// - Throws: ``RemoteError``; `CancellationError` if the calling task is cancelled, though an intent that is on its
    ///   way then may run.
    @discardableResult
    public nonisolated func send(
        _ intent: Intent, until completion: SendCompletion = .committed
    ) async throws -> IntentReceipt {
        try await server.core.send(try encoded(intent), to: feature, key: Self.key(), completion: completion)
    }

    /// Sends an intent without waiting, for a button. Intents are in the order of the calls; ``failure`` says if one
    /// failed.
    public nonisolated func post(_ intent: Intent) {
        let body: [UInt8]
        do {
            body = try encoded(intent)
        } catch {
            return feed.note(error)
        }
        server.core.send(body, to: feature, key: Self.key(), completion: .committed) { [feed] result in
            switch result {
            case .success: feed.note(nil)
            case .failure(let error): feed.note(error as? RemoteError)
            }
        }
    }

    private nonisolated func encoded(_ intent: Intent) throws(RemoteError) -> [UInt8] {
        do {
            return try WireJSON.encode(intent)
        } catch {
            throw RemoteError(.notEncodable, "The intent cannot be written as JSON: \(error)")
        }
    }

    private nonisolated static func key() -> String { UUID().uuidString.lowercased() }
}
