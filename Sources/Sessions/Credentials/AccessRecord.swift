import SessionJournal

/// What a credential may not see of a session: features that its principal's access excludes now, and the labels that were
/// published while it did.
struct AccessRecord {
    /// The features without access, by name, and the number of the last turn before they were excluded.
    private(set) var denied: [String: UInt64]
    /// The turns whose labels stay unseen.
    private var hidden: [String: [ClosedRange<UInt64>]] = [:]
    /// How many ranges of a feature are told apart; beyond it they are merged: too few labels rather than too many.
    private static let rangeLimit = 8

    /// That of a credential which is new: what it may not see it never could.
    init(denied: [String]) { self.denied = Dictionary(denied.map { ($0, 0) }, uniquingKeysWith: { first, _ in first }) }

    /// Takes what is excluded from now on; returns what was not before, and what is not any more.
    mutating func update(denied now: [String], head: UInt64) -> (lost: [String], gained: [String]) {
        let lost = now.filter { denied[$0] == nil }
        let gained = denied.keys.filter { !now.contains($0) }
        for name in lost { denied[name] = head }
        for name in gained {
            guard let since = denied.removeValue(forKey: name), since < head else { continue }
            var ranges = hidden[name] ?? []
            ranges.append(since + 1...head)
            if ranges.count > Self.rangeLimit { ranges[0...1] = [ranges[0].lowerBound...ranges[1].upperBound] }
            hidden[name] = ranges
        }
        return (lost, gained)
    }

    /// Whether a label of a turn stays unseen.
    func hides(_ feature: String, number: UInt64) -> Bool {
        if denied[feature] != nil { return true }
        return hidden[feature]?.contains { $0.contains(number) } ?? false
    }
}

extension SessionCore {
    /// Notes what a credential may not see from now on; returns what it could see before, and what it could not.
    mutating func noteAccess(_ credential: Int, denied: [String]) -> (lost: [String], gained: [String]) {
        var records = access ?? [:]
        defer { access = records }
        guard var record = records[credential] else {
            records[credential] = AccessRecord(denied: denied)
            return (denied, [])
        }
        let change = record.update(denied: denied, head: head.number)
        records[credential] = record
        return change
    }
}
