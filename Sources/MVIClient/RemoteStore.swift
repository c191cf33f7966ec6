import Observation
import WireJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The client of one feature: shows its states, delivers its labels and sends its intents.
///
/// The type parameters are the app's view state, intent and label: any types with the same JSON as the server's. If app
/// and server share the feature's type, use ``RemoteStoreOf``.
///
/// ```swift
/// let server = RemoteServer(url)
/// let counter = RemoteStore<CounterState, CounterIntent, CounterLabel>("counter", on: server)
/// for await state in counter.states { print(state.count) }
/// ```
///
/// The store is watched, which means it is part of the server's stream, while a task runs ``watch()`` or iterates
/// ``states`` or ``labels``. The object is observable: a view that reads ``state`` is updated when it changes. Its
/// properties change on the main actor; its functions can be called from any thread.
@MainActor
@Observable
public final class RemoteStore<
    State: Decodable & Sendable, Intent: Encodable & Sendable, Label: Decodable & Sendable
> {
    /// The newest view state with the predictions of ``pending`` intents; nil until the first one arrives. It is kept if
    /// the connection is lost or the store is no longer watched.
    public private(set) var state: State?
    /// The newest view state as the server sent it.
    public private(set) var confirmed: State?
    /// The intents that are shown by a prediction and not confirmed, in order, and those that failed.
    public private(set) var pending: [PredictedIntent<Intent>] = []
    /// The clients that look at the store, if its feature shows clients to each other. It is kept over reconnects; nil until the first
    /// event, while the store is not watched, and after its end or the session's.
    public private(set) var presence: StorePresence?
    /// The availability of the store.
    public private(set) var availability = Availability.unknown
    /// The error of the last intent of ``post(_:)``; nil if it succeeded. While the store is ``Availability/outdated``, the
    /// error of its newest state.
    public private(set) var failure: RemoteError?

    /// The feature id, with its key if there is one: `counter`, `order:42`.
    @ObservationIgnored public nonisolated let feature: String
    /// The server that has the store.
    @ObservationIgnored public nonisolated let server: RemoteServer

    /// The numbers of `state` and `confirmed`.
    @ObservationIgnored private var numbers = (state: 0, confirmed: 0)
    @ObservationIgnored private nonisolated let feed: StoreFeed<State, Intent, Label>

    /// Creates the client of a feature. No request is sent.
    ///
    /// - Parameters:
    ///   - feature: the feature id, with its key for a keyed feature: `order:42`. If it can be no store's id, such as with
    ///     a wrong key from a link, nothing is ever sent: intents fail with ``RemoteError/Code/invalidFeature``, and the
    ///     store is ``Availability/missing``.
    ///   - predict: changes a view state as the server is expected to, so that an intent is shown before its answer. It
    ///     is called again for each new state, on any thread. A prediction that throws is not shown.
    public nonisolated init(
        _ feature: String, on server: RemoteServer, predict: (@Sendable (inout State, Intent) throws -> Void)? = nil
    ) {
        self.feature = feature
        self.server = server
        feed = StoreFeed(
            feature: feature, core: server.core, predict: predict, report: server.report, outdated: server.outdated)
        let newest = Newest<StoreFeed<State, Intent, Label>.Picture>()
        feed.onChange { [weak self] picture in
            guard newest.put(picture) else { return }
            Task { @MainActor in
                if let picture = newest.take() { self?.show(picture) }
            }
        }
    }

    private func show(_ picture: StoreFeed<State, Intent, Label>.Picture) {
        // What is set without a change has views drawn again.
        if picture.number != numbers.state { (state, numbers.state) = (picture.state, picture.number) }
        if picture.confirmedNumber != numbers.confirmed {
            (confirmed, numbers.confirmed) = (picture.confirmed, picture.confirmedNumber)
        }
        let isSame = pending.elementsEqual(picture.pending) {
            $0.id == $1.key && $0.status == $1.status && $0.error == $1.error
        }
        if !isSame {
            pending = picture.pending.map { [feed] entry in
                PredictedIntent(
                    id: entry.key, intent: entry.intent, status: entry.status, error: entry.error,
                    retries: { feed.retry(entry.key) }, dismisses: { feed.dismiss(entry.key) })
            }
        }
        if presence != picture.presence { presence = picture.presence }
        if availability != picture.availability { availability = picture.availability }
        if failure != picture.failure { failure = picture.failure }
    }

    // MARK: Watching

    /// Watches the store until the calling task is canceled or the server is closed. For the `task` of a view.
    public nonisolated func watch() async {
        for await _ in states {}
    }

    /// The newest state, if there is one, and all later ones. A slow reader misses states, but never the newest one.
    public nonisolated var states: AsyncStream<State> { feed.states(keeping: server) }

    /// The labels, each once, beginning with up to 1,000 that arrived while no task iterated. Each reader gets all
    /// labels that arrive while it reads, except those whose lifetime has ended, such as a toast of last hour.
    public nonisolated var labels: AsyncStream<Label> { feed.labels(keeping: server) }

    // MARK: Intents

    /// Sends an intent and returns when the server has committed it.
    ///
    /// Intents of all stores of the server are sent one after the other, in the order of the calls. An intent without
    /// an answer is repeated until the options' `patience` ends, and runs once, even if networks or sessions are lost
    /// or the server restarts. It never runs in another user's session.
    ///
    /// - Parameter completion: `.shown` to return only after this store has shown a state that includes the intent.
    /// - Throws: ``RemoteError``, with `.shown` also ``RemoteError/Code/outdated`` for a committed intent whose state the
    ///   app cannot read; `CancellationError` if the calling task is canceled, though an intent in flight may still run.
    @discardableResult
    public nonisolated func send(
        _ intent: Intent, until completion: SendCompletion = .committed
    ) async throws -> IntentReceipt {
        let (body, key) = (try encoded(intent), Self.key())
        let progress = feed.predict(intent, body: body, key: key)
        let receipt = try await server.core.send(
            body, to: feature, key: key, completion: completion, progress: progress)
        guard completion == .shown else { return receipt }
        await feed.settled()
        if let error = feed.outdatedError { throw error }
        return receipt
    }

    /// Disposes of the store on the server, after the intents that were sent before: its state is gone and its work ends.
    /// The next use creates a new one. Returns when that is committed, also if there was no store.
    ///
    /// - Throws: as ``send(_:until:)``.
    public nonisolated func dispose() async throws {
        _ = try await server.core.send(nil, to: feature, key: Self.key(), completion: .committed)
    }

    /// Sends an intent without waiting, for a button. Intents keep the order of the calls; see ``failure`` for errors.
    public nonisolated func post(_ intent: Intent) {
        let body: [UInt8]
        do {
            body = try encoded(intent)
        } catch {
            return feed.note(error)
        }
        let key = Self.key()
        let progress = feed.predict(intent, body: body, key: key)
        server.core.send(body, to: feature, key: key, completion: .committed, progress: progress) { [feed] result in
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
