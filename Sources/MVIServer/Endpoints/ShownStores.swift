import MVI
import MicroHTTP
import SessionJournal
import Sessions

/// The stores that a stream shows, by the log that they belong to.
struct ShownStores: Sendable {
    typealias Space = (name: SpaceName, features: [FeatureID])

    /// Those of the caller's session.
    let own: StreamFilter
    /// The spaces of which the caller may read a feature.
    private(set) var spaces: [Space] = []
    /// Features of spaces of which the caller may read none.
    private(set) var denied: [FeatureID] = []
    /// Features of spaces beyond those that a stream may show.
    private(set) var withoutRoom: [FeatureID] = []

    /// All features that the stream names.
    var filter: StreamFilter {
        if case .all = own { return .all }
        return .features(ownFeatures + spaces.flatMap(\.features) + denied + withoutRoom)
    }

    /// True if the stream names a space.
    var isOfSeveral: Bool { !spaces.isEmpty || !denied.isEmpty || !withoutRoom.isEmpty }

    /// Those of the caller's session that the stream names.
    var ownFeatures: [FeatureID] { if case .features(let named) = own { named } else { [] } }

    init(_ filter: StreamFilter, for caller: Caller, _ features: FeatureRegistry) {
        guard case .features(let named) = filter, named.contains(where: { features.space(of: $0) != nil }) else {
            own = filter
            return
        }
        own = .features(named.filter { features.space(of: $0) == nil })
        // In the order of their names, so that those beyond the limit are the same at each reconnect.
        let bySpace = Dictionary(grouping: named) { features.space(of: $0) }
            .compactMap { space, features in space.map { (name: $0, features: features.sorted { $0.text < $1.text }) } }
            .sorted { $0.name.text < $1.name.text }
        let readable = bySpace.filter { $0.features.contains { features.allows(caller.principal, $0, .read) } }
        spaces = Array(readable.prefix(StreamBundle.spaceLimit))
        withoutRoom = readable.dropFirst(StreamBundle.spaceLimit).flatMap(\.features)
        denied = bySpace.flatMap(\.features).filter { feature in
            !readable.contains { $0.features.contains(feature) }
        }
    }
}

extension SessionLookup {
    /// The space that was looked up for one of its features.
    func space(for feature: FeatureID) -> Result<Session, StoreError> {
        switch self {
        case .live(let space, _): .success(space)
        case .damaged(_, let error), .failed(let error): .failure(error)
        case .ended, .unknown: .failure(StoreError(.featureNotFound, "No instance \"\(feature)\" exists."))
        }
    }
}

extension Session {
    /// Those of named stores, or of all, that the session's owner, another node, has to make or to observe for, and that
    /// the caller may read.
    ///
    /// - Parameter onlyObserved: true to leave out those that have to be made.
    func missing(
        _ named: [FeatureID]?, for caller: Caller, _ features: FeatureRegistry, onlyObserved: Bool = false
    ) -> [FeatureID] {
        let observed = observedElsewhere(named)
        let unmade = onlyObserved ? [] : (named ?? []).filter { !hasStore($0) && !observed.contains($0) }
        return (observed + unmade).filter { features.allows(caller.principal, $0, .read) }
    }
}

extension Forwarder.Refusal {
    /// The error of a part that an owner refuses.
    var error: StoreError {
        let status =
            switch self {
            case .problem(let problem): problem.type.status
            case .relayed(let response): response.status
            }
        let code: StoreError.Code =
            switch status {
            case 403: .forbidden
            case 429, 503, 507: .unavailable
            default: .featureNotFound
            }
        return StoreError(code, "The server that runs the shared store refuses it: \(status).")
    }
}
