import MVI
import SessionJournal
import WireJSON

/// The principal of a credential, and its former principals as long as labels from their time are stored: labels that a
/// rule excluded then are never shown.
///
/// Encoded as the JSON of the present principal with one more member, which older servers ignore.
struct PrincipalHistory: Sendable, Hashable {
    var present: Principal
    /// The oldest first.
    private(set) var former: [FormerPrincipals] = []
    /// The maximum number of former principals. Beyond it, labels that a rule guards are hidden for the oldest turns.
    private static let limit = 8

    init(_ principal: Principal) { present = principal }

    /// Adds the principals by which the client was judged up to a turn, after those already recorded.
    mutating func add(_ principals: [Principal], through number: UInt64) {
        guard number > former.last?.through ?? 0 else { return }
        former.append(FormerPrincipals(principals: principals, through: number))
    }

    /// Removes principals of whose turns no labels are stored, and those that the present one continues.
    mutating func trim(to outbox: Outbox, of head: UInt64) {
        var before: UInt64 = 0
        former = former.filter { entry in
            defer { before = entry.through }
            return entry.through > head || outbox.hasLabels(after: before, through: entry.through)
        }
        while let last = former.last, !last.principals.isEmpty, last.principals.allSatisfy({ $0.says(as: present) }) {
            former.removeLast()
        }
        while former.count > Self.limit {
            former[1].principals = []
            former.removeFirst()
        }
    }
}

/// The principals by which a client was judged in turns up to one.
struct FormerPrincipals: Sendable, Hashable, Codable {
    /// All of them. Empty if they are not known any more: the client was then allowed nothing that a rule guards.
    var principals: [Principal]
    /// The number of the last turn.
    var through: UInt64
}

extension PrincipalHistory: Codable {
    private enum Key: String, CodingKey { case former }

    init(from decoder: any Decoder) throws {
        present = try Principal(from: decoder)
        let container = try decoder.container(keyedBy: Key.self)
        former = try container.decodeIfPresent([FormerPrincipals].self, forKey: .former) ?? []
    }

    func encode(to encoder: any Encoder) throws {
        try present.encode(to: encoder)
        guard !former.isEmpty else { return }
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(former, forKey: .former)
    }
}

extension Principal {
    /// True if rules decide the same about both: they differ only in their expiry, which excludes nothing.
    fileprivate func says(as other: Principal) -> Bool { identity == other.identity && claims == other.claims }
}

extension Outbox {
    /// True if a label is stored of turns with such numbers.
    fileprivate func hasLabels(after number: UInt64, through last: UInt64) -> Bool {
        let index = index(from: firstPlace(after: number))
        return index < count && entries[index].label.id.number <= last
    }
}
