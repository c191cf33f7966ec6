import SessionJournal

/// What the writer remembers of sessions that it wrote to lately, so that an append needs no look at the session's row.
///
/// It holds what is committed and what the open transaction did; when that is undone, all of it is forgotten. Two
/// generations bound it: what was not used while the young one filled goes.
struct SessionCache {
    struct Entry {
        /// Of the session's last turn.
        var sequence: UInt64
        /// Its stores and their ids, in the order of the ids.
        var stores: [(feature: FeatureID, id: Int64)]
        /// Of its last receipt; nil if that was not asked for yet.
        var lastPlace: Int64?
        /// How many turns are recorded; nil if that was not asked for yet.
        var recordings: Int?

        /// The id of a store; nil if there is none.
        func id(of feature: FeatureID) -> Int64? { stores.first { $0.feature == feature }?.id }

        /// Gives a new store the first id that is free; nil if the session has as many as it can.
        mutating func enter(_ feature: FeatureID, session: SessionKey) -> Int64? {
            let first = session.number << Int64(Schema.placeBits)
            let place = stores.enumerated().first { $0.element.id != first + Int64($0.offset) }?.offset ?? stores.count
            guard place < 1 << Schema.placeBits else { return nil }
            stores.insert((feature, first + Int64(place)), at: place)
            return first + Int64(place)
        }
    }

    private let limit: Int
    private var young: [SessionKey: Entry] = [:]
    private var old: [SessionKey: Entry] = [:]

    init(limit: Int) { self.limit = limit }

    mutating func entry(of session: SessionKey) -> Entry? {
        if let entry = young[session] { return entry }
        guard let entry = old[session] else { return nil }
        self[session] = entry
        return entry
    }

    subscript(session: SessionKey) -> Entry? {
        get { young[session] ?? old[session] }
        set {
            if newValue == nil { old[session] = nil }
            young[session] = newValue
            guard young.count >= limit else { return }
            old = young
            young = [:]
        }
    }

    mutating func removeAll() {
        young = [:]
        old = [:]
    }
}
