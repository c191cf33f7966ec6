import MVI
import SessionJournal

/// The feature instances that a credential may not read, and the labels that were published during that time.
///
/// The labels that former principals might not see follow from these principals. Denials by rules that depend on more
/// than the principal are recorded here, as long as the session is in memory.
struct AccessRecord {
    /// The instances without access, and the number of the last turn before they were excluded.
    private(set) var denied: [FeatureID: UInt64] = [:]
    /// The turns whose labels stay hidden.
    private var hidden: [FeatureID: [ClosedRange<UInt64>]] = [:]
    /// The instances that were ever judged and still have a store or labels.
    private(set) var known: Set<FeatureID> = []
    private var past = PastAccess()
    /// The maximum number of ranges per instance. Beyond it ranges are merged, which hides more labels than needed.
    private static let rangeLimit = 8

    /// Records the instances that are excluded from now on.
    ///
    /// - Parameter isChange: true if access may just have changed. Otherwise an instance that is excluded when it is
    ///   first judged counts as excluded since the credential has its principal.
    mutating func update(_ access: StreamAccess, head: UInt64, isChange: Bool) {
        for feature in access.denied where denied[feature] == nil {
            denied[feature] = isChange || known.contains(feature) ? head : past.end
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

    /// Removes the records of other instances.
    mutating func keep(_ features: Set<FeatureID>) {
        known.formIntersection(features)
        denied = denied.filter { features.contains($0.key) }
        hidden = hidden.filter { features.contains($0.key) }
        past.hidden = past.hidden.filter { features.contains($0.key) }
    }

    /// True if it is known which labels former principals might see of the instances.
    func knowsPast(of features: [FeatureID], _ generation: UInt64) -> Bool {
        past.generation == generation && features.allSatisfy { past.hidden[$0] != nil }
    }

    /// Adds records, since streams of the credential may show different instances.
    mutating func note(_ new: PastAccess) {
        let known = new.generation == past.generation ? past.hidden : [:]
        past = new
        past.hidden.merge(known) { new, _ in new }
    }

    /// True if a label of a turn stays hidden.
    func hides(_ feature: FeatureID, number: UInt64) -> Bool {
        if denied[feature] != nil { return true }
        if past.hidden[feature]?.contains(where: { $0.contains(number) }) == true { return true }
        return hidden[feature]?.contains { $0.contains(number) } ?? false
    }
}

/// The labels that were published while a credential's former principals might not see them, by the access rules.
struct PastAccess {
    /// The access generation by which they were judged.
    private(set) var generation: UInt64?
    /// The turns, for each instance that was judged.
    fileprivate(set) var hidden: [FeatureID: [ClosedRange<UInt64>]] = [:]
    /// The number of the last turn of these principals.
    private(set) var end: UInt64 = 0

    init() {}

    /// Calls the features' rules, so under no lock.
    init(_ former: [FormerPrincipals], of features: [FeatureID], _ registry: FeatureRegistry, _ generation: UInt64) {
        self.generation = generation
        for feature in features {
            var (turns, before): ([ClosedRange<UInt64>], UInt64) = ([], 0)
            for entry in former {
                let isAllowed =
                    !entry.principals.isEmpty
                    && entry.principals.allSatisfy { registry.allows($0, feature, .read) }
                if !isAllowed { turns.append(before + 1...entry.through) }
                before = entry.through
            }
            hidden[feature] = turns
        }
        end = former.last?.through ?? 0
    }
}

extension SessionCore {
    /// Records the instances that a credential may not read from now on.
    mutating func noteAccess(of credential: Credential?, _ access: StreamAccess, isChange: Bool = false) {
        // A space keeps no history: a caller that comes with other claims begins at the present.
        guard !access.judged.isEmpty, life != .space else { return }
        let number = credential?.number ?? 0
        var record = self.access?[number] ?? AccessRecord()
        record.update(access, head: head.number, isChange: isChange)
        // A client can create and dispose of any number of instances.
        if record.known.count > 2 * (stores.count + outbox.count) + 64 {
            record.keep(Set(stores.map(\.feature)).union(outbox.entries.lazy.map(\.label.feature)))
        }
        self.access = self.access ?? [:]
        self.access?[number] = record
    }

    mutating func note(_ past: PastAccess, of credential: Credential) {
        access = access ?? [:]
        access?[credential.number, default: AccessRecord()].note(past)
    }

    /// The instances with a rule that a filter shows; for `all`, also those of which only labels are left.
    func ruled(_ filter: StreamFilter, _ features: FeatureRegistry) -> [FeatureID] {
        if case .features(let named) = filter { return named.filter { features.isRuled($0) } }
        var ruled = stores.map(\.feature).filter { features.isRuled($0) }
        for feature in outbox.entries.lazy.map(\.label.feature) {
            if !ruled.contains(feature), features.isRuled(feature) { ruled.append(feature) }
        }
        return ruled
    }
}
