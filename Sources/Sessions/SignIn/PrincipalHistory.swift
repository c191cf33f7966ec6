import MVI
import SessionJournal
import WireJSON

/// Who is signed in with a credential, and who was as long as labels are kept that were published then: those of a time
/// in which a rule excluded its reader are never shown to it.
///
/// It is kept as the JSON of the present principal with a member more, which older servers pass over.
struct PrincipalHistory: Sendable, Hashable {
    var present: Principal
    /// The oldest first.
    private(set) var former: [FormerPrincipals] = []
    /// How many are told apart; beyond it nothing that a rule guards is shown of the oldest turns.
    private static let limit = 8

    init(_ principal: Principal) { present = principal }

    /// Notes which principals the client had to be allowed by up to a turn, and after those that are noted.
    mutating func add(_ principals: [Principal], through number: UInt64) {
        guard number > former.last?.through ?? 0 else { return }
        former.append(FormerPrincipals(principals: principals, through: number))
    }

    /// Forgets principals of whose turns no labels are kept, and those that the present one continues.
    mutating func trim(to outbox: Outbox) {
        var before: UInt64 = 0
        former = former.filter { entry in
            defer { before = entry.through }
            return outbox.hasLabels(after: before, through: entry.through)
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

/// The principals that a client had to be allowed by in turns up to one.
struct FormerPrincipals: Sendable, Hashable, Codable {
    /// All of them; none if they are not known any more: then it was allowed nothing that a rule guards.
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
    /// Whether rules answer the same about both: they differ in nothing but their expiry, which excludes nothing.
    fileprivate func says(as other: Principal) -> Bool { identity == other.identity && claims == other.claims }
}

extension Outbox {
    /// Whether a label is kept of turns with such numbers.
    fileprivate func hasLabels(after number: UInt64, through last: UInt64) -> Bool {
        let index = index(from: firstPlace(after: number))
        return index < count && entries[index].label.id.number <= last
    }
}
