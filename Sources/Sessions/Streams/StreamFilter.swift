import MVI

/// The stores that a stream shows.
package enum StreamFilter: Sendable, Equatable {
    /// Every store that the session has or creates later.
    case all
    /// These, each once.
    case features([FeatureID])

    /// Returns the filter without some features.
    func without(_ excluded: [FeatureID]) -> StreamFilter {
        guard !excluded.isEmpty, case .features(let features) = self else { return self }
        return .features(features.filter { !excluded.contains($0) })
    }

    func shows(_ feature: FeatureID) -> Bool {
        switch self {
        case .all: true
        case .features(let features): features.contains(feature)
        }
    }
}
