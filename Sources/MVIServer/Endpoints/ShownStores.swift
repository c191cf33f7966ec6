import Locking
import MVI
import MicroHTTP
import Sessions

/// The stores that a stream shows, by the log that they belong to.
struct ShownStores: Sendable {
    /// Those of the caller's session.
    let own: StreamFilter
    var spaces: [StreamBundle.Named] = []
    /// Features of spaces of which the caller may read none.
    var denied: [FeatureID] = []
    /// Features of spaces beyond those that a stream may show.
    var withoutRoom: [FeatureID] = []

    /// All features that the stream names.
    var filter: StreamFilter {
        if case .all = own { return .all }
        return .features(ownFeatures + spaces.flatMap(\.features) + denied + withoutRoom)
    }

    /// True if the stream names a space.
    var isOfSeveral: Bool { !spaces.isEmpty || !denied.isEmpty || !withoutRoom.isEmpty }

    /// Those of the caller's session that the stream names.
    var ownFeatures: [FeatureID] { if case .features(let named) = own { named } else { [] } }

    /// Looks up the spaces of a stream that the caller may read, and makes those that are missing and may be made.
    static func find(
        _ filter: StreamFilter, for caller: Caller, in sessions: SessionTable,
        permit: @escaping @Sendable () -> Duration?,
        completion: @escaping @Sendable (Result<ShownStores, StoreError>) -> Void
    ) {
        let features = sessions.environment.features
        guard case .features(let named) = filter, named.contains(where: { features.space(of: $0) != nil }) else {
            return completion(.success(ShownStores(own: filter)))
        }
        let own = named.filter { features.space(of: $0) == nil }
        // In the order of their names, so that those beyond the limit are the same at each reconnect.
        let bySpace = Dictionary(grouping: named.filter { !own.contains($0) }) { features.space(of: $0) }
            .compactMap { space, features in space.map { (space: $0, features: features.sorted { $0.text < $1.text }) }
            }
            .sorted { $0.space.text < $1.space.text }
        let readable = bySpace.filter { $0.features.contains { features.allows(caller.principal, $0, .read) } }
        let shown = readable.prefix(StreamBundle.spaceLimit)
        var found = ShownStores(own: .features(own))
        found.withoutRoom = readable.dropFirst(StreamBundle.spaceLimit).flatMap(\.features)
        found.denied = bySpace.flatMap(\.features).filter { feature in
            !readable.contains { $0.features.contains(feature) }
        }
        guard !shown.isEmpty else { return completion(.success(found)) }
        let lookups = Lock<[SessionLookup?]>(Array(repeating: nil, count: shown.count))
        for (index, (space, instances)) in shown.enumerated() {
            sessions.space(space, permit: features.makesSpaces(of: instances[0]) ? permit : nil) { [found] lookup in
                let all = lookups.withLock { lookups -> [SessionLookup]? in
                    lookups[index] = lookup
                    let known = lookups.compactMap { $0 }
                    return known.count == lookups.count ? known : nil
                }
                guard let all else { return }
                var found = found
                for (lookup, (_, instances)) in zip(all, shown) {
                    switch lookup {
                    case .live(let space, _): found.spaces.append(StreamBundle.Named(space, instances))
                    case .damaged(_, let error), .failed(let error): return completion(.failure(error))
                    case .ended, .unknown:
                        return completion(
                            .failure(StoreError(.featureNotFound, "No instance \"\(instances[0])\" exists.")))
                    }
                }
                completion(.success(found))
            }
        }
    }

    /// The stores of a session that its owner, another node, has to make or to observe for.
    struct Missing: Sendable {
        let session: Session
        let features: [FeatureID]
        /// True for the caller's own session.
        var isOwn = false
    }

    /// Those that the caller may read, for each log. At least one element.
    ///
    /// - Parameter onlyObserved: true to leave out those that have to be made.
    func missing(for caller: Caller, _ features: FeatureRegistry, onlyObserved: Bool = false) -> [Missing] {
        func missing(of session: Session, _ named: [FeatureID]?) -> [FeatureID] {
            let observed = session.observedElsewhere(named)
            let unmade = onlyObserved ? [] : (named ?? []).filter { !session.hasStore($0) && !observed.contains($0) }
            return (observed + unmade).filter { features.allows(caller.principal, $0, .read) }
        }
        let named: [FeatureID]? = if case .features(let own) = own { own } else { nil }
        let own = Missing(session: caller.session, features: missing(of: caller.session, named), isOwn: true)
        let all = [own] + spaces.map { Missing(session: $0.space, features: missing(of: $0.space, $0.features)) }
        let needed = all.filter { !$0.features.isEmpty }
        return needed.isEmpty ? [own] : needed
    }
}
