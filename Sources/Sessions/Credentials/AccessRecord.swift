import MVI
import SessionJournal

/// The feature instances of a session that a credential may not read, and the labels that were published while it might not.
struct AccessRecord {
    /// The instances without access, and the number of the last turn before they were excluded.
    private(set) var denied: [FeatureID: UInt64] = [:]
    /// The turns whose labels stay unseen.
    private var hidden: [FeatureID: [ClosedRange<UInt64>]] = [:]
    /// The instances that were ever judged.
    private var known: Set<FeatureID> = []
    /// How many ranges of an instance are told apart; beyond it they are merged: too few labels rather than too many.
    private static let rangeLimit = 8

    /// Takes what is excluded from now on. What is excluded when it is judged first was always excluded.
    mutating func update(_ access: StreamAccess, head: UInt64) {
        for feature in access.denied where denied[feature] == nil {
            denied[feature] = known.contains(feature) ? head : 0
        }
        known.formUnion(access.judged)
        for feature in access.judged where !access.denied.contains(feature) {
            guard let since = denied.removeValue(forKey: feature), since < head else { continue }
            var ranges = hidden[feature] ?? []
            ranges.append(since + 1...head)
            if ranges.count > Self.rangeLimit { ranges[0...1] = [ranges[0].lowerBound...ranges[1].upperBound] }
            hidden[feature] = ranges
        }
    }

    /// Whether a label of a turn stays unseen.
    func hides(_ feature: FeatureID, number: UInt64) -> Bool {
        if denied[feature] != nil { return true }
        return hidden[feature]?.contains { $0.contains(number) } ?? false
    }
}

/// What access rules say of the feature instances that a stream shows.
struct StreamAccess {
    /// The instances that have a rule, and those of them that the stream's client may not read.
    var judged: [FeatureID] = []
    var denied: [FeatureID] = []
}

extension SessionCore {
    /// Notes what a credential may not read from now on.
    mutating func noteAccess(of credential: Credential?, _ access: StreamAccess) {
        guard !access.judged.isEmpty else { return }
        var records = self.access ?? [:]
        records[credential?.number ?? 0, default: AccessRecord()].update(access, head: head.number)
        self.access = records
    }

    /// The instances with a rule that a filter shows: of all, also those of which only labels are left.
    fileprivate func ruled(_ filter: StreamFilter, _ features: FeatureRegistry) -> [FeatureID] {
        if case .features(let named) = filter { return named.filter { features.isRuled($0) } }
        var ruled = stores.map(\.feature).filter { features.isRuled($0) }
        for feature in outbox.entries.lazy.map(\.label.feature) {
            if !ruled.contains(feature), features.isRuled(feature) { ruled.append(feature) }
        }
        return ruled
    }
}

extension Session {
    /// Calls `body` under the lock, with what rules say of the instances that a filter shows: asked outside the lock, and anew
    /// where access or the instances have changed meanwhile.
    func judging<Value>(
        _ filter: StreamFilter, of client: SessionClient, _ body: (inout SessionCore, StreamAccess) -> Value
    ) -> Value {
        let features = shared.features
        guard !features.ruled.isEmpty else { return core.withLock { body(&$0, StreamAccess()) } }
        while true {
            let (generation, judged) = core.withLock { ($0.accessGeneration, $0.ruled(filter, features)) }
            let principals = client.credential?.principals ?? client.principal.map { [$0] } ?? []
            let denied = judged.filter { feature in
                principals.isEmpty || !principals.allSatisfy { features.allows($0, feature, .read) }
            }
            let value = core.withLock { core -> Value? in
                guard core.accessGeneration == generation, core.ruled(filter, features) == judged else { return nil }
                return body(&core, StreamAccess(judged: judged, denied: denied))
            }
            if let value { return value }
        }
    }
}
