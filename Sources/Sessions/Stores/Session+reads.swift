import Locking
import MVI
import SessionJournal

/// Reads of states.
extension Session {
    /// Returns the view state of a store, which is created if the session has none: before this returns if the store is
    /// in memory and observes nothing, otherwise perhaps later, on another thread.
    package func state(
        of feature: FeatureID, for client: SessionClient = SessionClient(),
        completion: @escaping @Sendable (Result<StateSnapshot, StoreError>) -> Void
    ) {
        confirm { [self] isConfirmed in
            knownState(of: feature, for: client) { result in
                guard !isConfirmed, case .success(var state) = result else { return completion(result) }
                state.isStale = true
                completion(.success(state))
            }
        }
    }

    func knownState(
        of feature: FeatureID, for client: SessionClient,
        completion: @escaping @Sendable (Result<StateSnapshot, StoreError>) -> Void
    ) {
        let known = reading(as: client, feature) { core -> Known? in
            guard let index = core.stores.index(of: feature), core.stores[index].isStarted else { return nil }
            core.stores[index].use(at: core.lastTouch)
            return core.known(feature)
        }
        switch known {
        case .failure(let refusal): return completion(.failure(refusal))
        case .success(.state(let state)?): return completion(show(state, to: client))
        case .success(.observes(let store)?):
            return observedState(of: store, for: client, completion: completion)
        case .success(nil): break
        }
        open(.features([feature]), for: client) { [self] result in
            switch (reading(as: client, feature) { $0.known(feature) }, result) {
            case (.failure(let refusal), _): completion(.failure(refusal))
            case (.success(.state(let state)?), _): completion(show(state, to: client))
            case (.success(.observes(let store)?), _): observedState(of: store, for: client, completion: completion)
            case (.success(nil), .failure(let error)): completion(.failure(error))
            // Another request disposed of it meanwhile: the next one is as good.
            case (.success(nil), .success): knownState(of: feature, for: client, completion: completion)
            }
        }
    }

    /// Has a store in memory, created if the session has none, and does not wait for its observations.
    package func start(
        _ feature: FeatureID, for client: SessionClient = SessionClient(),
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        confirm { [self] _ in open(.features([feature]), for: client, then: completion) }
    }

    /// The view state of a store if it is in memory, as a client sees it.
    package func existingState(
        of feature: FeatureID, for client: SessionClient = SessionClient()
    ) -> StateSnapshot? {
        let read = core.withLock { $0.readState(of: feature) }
        return read.flatMap { try? show($0.state, isStale: $0.isStale, to: client).get() }
    }

    /// Returns the view state that a new store of the feature would have, even if the session has one. Nothing is
    /// stored: for a `HEAD`. Throws `featureNotFound` if the feature or its instance does not exist.
    package func initialState(of feature: FeatureID, for client: SessionClient) throws(StoreError) -> [UInt8] {
        let store = try makeStore(feature, stored: nil, principal: client.principal)
        guard let book = store.audiences else { return store.beginning?.view ?? [] }
        let beginning = ShownState(book, number: 0, version: 0, epoch: "")
        return try show(.audiences(beginning), to: client).get().view
    }

    /// A state as a client sees it.
    func show(
        _ state: KnownState, isStale: Bool = false, to client: SessionClient
    ) -> Result<StateSnapshot, StoreError> {
        switch state {
        case .everyone(var state):
            state.isStale = isStale
            return .success(state)
        case .audiences(let shown):
            guard let key = shown.book.audience(of: viewers(of: client)) else { return .failure(.identityInDoubt) }
            return Result { () throws(StoreError) in
                var state = try shown.book.view(of: shown, for: key).snapshot(shown.version)
                state.isStale = isStale
                return state
            }
        }
    }

    /// The versions of a store's state, with the turns of the running batch, that a client of an audience may know; nil if it
    /// knows none of it. Called only by the queue's runner.
    ///
    /// - Parameter version: that of the store.
    func versions(
        _ book: AudienceBook, of feature: FeatureID, _ version: UInt64, for client: SessionClient
    ) throws(StoreError) -> ClosedRange<UInt64>? {
        guard let key = book.audience(of: viewers(of: client)) else { throw .identityInDoubt }
        guard let shown = core.withLock({ $0.stores[feature]?.shown }), shown.book === book else { return nil }
        return try book.versions(working: version != shown.version, since: shown, for: key)
    }

    /// A client as a feature sees it, by each of its principals.
    func viewers(of client: SessionClient) -> [Viewer] {
        let settings = settings(of: client)
        return client.standing.map { principal in
            Viewer(principal, client.caller.map { sender($0, principal, client.credential) }, settings)
        }
    }
}

extension StoreError {
    fileprivate static let identityInDoubt = StoreError(
        .unavailable, "The identity of the client is being changed.", retryAfter: .seconds(1))
}
