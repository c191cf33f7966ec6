import MVI
import SessionJournal

/// The feature instances of a session that a credential may not read, and the labels that were published while it might not.
///
/// Which labels former principals might not see follows from what is kept of these; what a rule says that asks more than
/// the principal is noted here, and known as long as the session is in memory.
struct AccessRecord {
    /// The instances without access, and the number of the last turn before they were excluded.
    private(set) var denied: [FeatureID: UInt64] = [:]
    /// The turns whose labels stay unseen.
    private var hidden: [FeatureID: [ClosedRange<UInt64>]] = [:]
    /// The instances that were ever judged, as long as there are stores or labels of them.
    private(set) var known: Set<FeatureID> = []
    private var past = PastAccess()
    /// How many ranges of an instance are told apart; beyond it they are merged: too few labels rather than too many.
    private static let rangeLimit = 8

    /// Takes what is excluded from now on.
    ///
    /// - Parameter isChange: whether access may just have changed. Else what is excluded when it is judged first was so since
    ///   the credential has its principal.
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

    /// Forgets what is noted of other instances.
    mutating func keep(_ features: Set<FeatureID>) {
        known.formIntersection(features)
        denied = denied.filter { features.contains($0.key) }
        hidden = hidden.filter { features.contains($0.key) }
        past.hidden = past.hidden.filter { features.contains($0.key) }
    }

    /// Whether it is known what former principals might see of the instances.
    func knowsPast(of features: [FeatureID], _ generation: UInt64) -> Bool {
        past.generation == generation && features.allSatisfy { past.hidden[$0] != nil }
    }

    /// Streams of the credential may show different instances.
    mutating func note(_ new: PastAccess) {
        let known = new.generation == past.generation ? past.hidden : [:]
        past = new
        past.hidden.merge(known) { new, _ in new }
    }

    /// Whether a label of a turn stays unseen.
    func hides(_ feature: FeatureID, number: UInt64) -> Bool {
        if denied[feature] != nil { return true }
        if past.hidden[feature]?.contains(where: { $0.contains(number) }) == true { return true }
        return hidden[feature]?.contains { $0.contains(number) } ?? false
    }
}

/// Which labels were published while a credential had principals that might not see them, as its rules say of these.
struct PastAccess {
    /// By what access generation they were judged.
    private(set) var generation: UInt64?
    /// The turns, for each instance that was judged.
    fileprivate(set) var hidden: [FeatureID: [ClosedRange<UInt64>]] = [:]
    /// The number of the last turn in which the credential had one of those principals.
    private(set) var end: UInt64 = 0

    init() {}

    /// Asks the authors' rules, so under no lock.
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
    /// Notes what a credential may not read from now on.
    mutating func noteAccess(of credential: Credential?, _ access: StreamAccess, isChange: Bool = false) {
        guard !access.judged.isEmpty else { return }
        let number = credential?.number ?? 0
        var record = self.access?[number] ?? AccessRecord()
        record.update(access, head: head.number, isChange: isChange)
        // A client can make and dispose of instances without end.
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

    /// The instances with a rule that a filter shows: of all, also those of which only labels are left.
    func ruled(_ filter: StreamFilter, _ features: FeatureRegistry) -> [FeatureID] {
        if case .features(let named) = filter { return named.filter { features.isRuled($0) } }
        var ruled = stores.map(\.feature).filter { features.isRuled($0) }
        for feature in outbox.entries.lazy.map(\.label.feature) {
            if !ruled.contains(feature), features.isRuled(feature) { ruled.append(feature) }
        }
        return ruled
    }
}
