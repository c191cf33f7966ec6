import HeapModule
import MVI

/// The tokens, ids and subjects of the sessions of a journal in memory, and the tokens that ended recently.
struct MemoryDirectory {
    var isClosed = false
    /// The shard at which the next step of expiry begins.
    var nextShard = 0
    private var lastKey: Int64 = 0
    /// The tokens of sessions and their credentials.
    private(set) var tokens: [TokenHash: SessionKey] = [:]
    private(set) var ids: [String: SessionKey] = [:]
    /// The sessions of each subject, oldest first. None is empty.
    private var subjects: [SubjectBytes: [SessionKey]] = [:]
    private var shared: [SubjectBytes: SessionKey] = [:]
    private var spaces: [SpaceName: SessionKey] = [:]
    var visits = MemoryVisits()
    /// The time until which each ended token is remembered.
    private(set) var tombstones: [TokenHash: Duration] = [:]
    /// The same times as a heap, the earliest at its top.
    private var tombstoneEnds: Heap<Due<TokenHash>> = []

    // MARK: Sessions

    /// Assigns a new session its key, or returns the reason why it cannot.
    mutating func add(
        _ session: SessionRecord, credential: TokenHash?, limit: Int, spaceLimit: Int
    ) -> Result<SessionKey, StoreError> {
        if isClosed { return .failure(.journalClosed) }
        let sessionTokens = [session.tokenHash] + (credential.map { [$0] } ?? [])
        guard Set(sessionTokens).count == sessionTokens.count, sessionTokens.allSatisfy({ tokens[$0] == nil }),
            ids[session.id] == nil
        else { return .failure(.sessionExists) }
        guard sessionTokens.allSatisfy({ tombstones[$0] == nil }) else { return .failure(.sessionGone) }
        let subject = session.subject.map(SubjectBytes.init)
        if session.isShared, let subject, shared[subject] != nil { return .failure(.sharedExists) }
        if let space = session.space {
            guard spaces[space] == nil else { return .failure(.sessionExists) }
            guard spaces.count < spaceLimit else { return .failure(.tooManySpaces) }
        } else {
            guard ids.count - spaces.count < session.limit(ofAll: limit) else { return .failure(.tooManyKept) }
        }
        lastKey += 1
        let key = SessionKey(lastKey)
        if let space = session.space { spaces[space] = key }
        for token in sessionTokens { tokens[token] = key }
        ids[session.id] = key
        insert(key, of: subject, isShared: session.isShared)
        if let subject = session.subject { visits.signIn(session.id, subject) }
        return .success(key)
    }

    /// - Parameter isExpired: True if the tokens of credentials are not remembered as ended.
    mutating func remove(
        _ key: SessionKey, _ record: SessionRecord, credentials: [StoredCredential], tombstoneUntil: Duration,
        limit: Int, isExpired: Bool
    ) {
        for token in Set([record.tokenHash] + credentials.map(\.token)) {
            tokens[token] = nil
            guard record.space == nil, !isExpired || token == record.tokenHash else { continue }
            bury(token, until: tombstoneUntil, limit: limit)
        }
        ids[record.id] = nil
        if let space = record.space {
            spaces[space] = nil
            visits.removeAll(of: key)
        }
        remove(key, of: record.subject.map(SubjectBytes.init), isShared: record.isShared)
    }

    // MARK: Credentials

    func name(_ token: TokenHash) -> TokenName {
        tokens[token].map { .session($0) } ?? (tombstones[token] == nil ? .unknown : .ended)
    }

    /// True if a subject has a shared session.
    func hasShared(_ subject: Subject) -> Bool { shared[SubjectBytes(subject)] != nil }

    mutating func add(_ token: TokenHash, of key: SessionKey) { tokens[token] = key }

    mutating func remove(_ token: TokenHash, tombstoneUntil: Duration, limit: Int) {
        tokens[token] = nil
        bury(token, until: tombstoneUntil, limit: limit)
    }

    mutating func move(_ key: SessionKey, from old: Subject?, to new: Subject?, isShared: Bool) {
        remove(key, of: old.map(SubjectBytes.init), isShared: isShared)
        insert(key, of: new.map(SubjectBytes.init), isShared: isShared)
    }

    // MARK: Subjects

    /// All sessions, in no order.
    var all: [SessionKey] { Array(ids.values) }

    /// Returns at most `limit` sessions that match the query, with keys after one, oldest first.
    func sessions(_ query: SessionQuery, after key: SessionKey, limit: Int) -> [SessionKey] {
        let found: ArraySlice<SessionKey>
        switch query {
        case .id(let id): found = ids[id].map { [$0] } ?? []
        case .shared(let subject): found = shared[SubjectBytes(subject)].map { [$0] } ?? []
        case .space(let space): found = spaces[space].map { [$0] } ?? []
        case .spaces: preconditionFailure("spaces are found by group")
        case .subject(let subject): found = (subjects[SubjectBytes(subject)] ?? [])[...]
        }
        return Array(found[Self.index(of: SessionKey(key.number + 1), in: found)...].prefix(limit))
    }

    /// Returns the keyed spaces of a group in the order of their names.
    func spaces(of group: String, after name: SpaceName?) -> [SessionKey] {
        spaces.filter { $0.key.group == group && $0.key.key != nil && $0.key.text > name?.text ?? "" }
            .sorted { $0.key.text < $1.key.text }.map(\.value)
    }

    private mutating func insert(_ key: SessionKey, of subject: SubjectBytes?, isShared: Bool) {
        guard let subject else { return }
        if isShared { shared[subject] = key }
        let index = Self.index(of: key, in: (subjects[subject] ?? [])[...])
        subjects[subject, default: []].insert(key, at: index)
    }

    private mutating func remove(_ key: SessionKey, of subject: SubjectBytes?, isShared: Bool) {
        guard let subject, let keys = subjects[subject] else { return }
        if isShared { shared[subject] = nil }
        if keys == [key] { return subjects[subject] = nil }
        subjects[subject]?.remove(at: Self.index(of: key, in: keys[...]))
    }

    /// Returns the index of the first key that is not below one.
    private static func index(of key: SessionKey, in keys: ArraySlice<SessionKey>) -> Int {
        var (low, high) = (keys.startIndex, keys.endIndex)
        while low < high {
            let middle = (low + high) / 2
            if keys[middle].number < key.number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: Tombstones

    mutating func bury(_ token: TokenHash, until: Duration, limit: Int) {
        // A token is buried once, since it names nothing afterwards.
        guard tombstones.updateValue(until, forKey: token) == nil else { return }
        tombstoneEnds.insert(Due(time: until, of: token))
        if tombstones.count > limit { tombstones[tombstoneEnds.removeMin().of] = nil }
    }

    /// Removes at most 1,000 tombstones that have ended. Returns true if there may be more.
    mutating func removeTombstones(now: Duration) -> Bool {
        for _ in 0..<1_000 {
            guard let first = tombstoneEnds.min, first.time <= now else { return false }
            tombstones[first.of] = nil
            tombstoneEnds.removeMin()
        }
        return true
    }
}

/// A value with the time at which it is due.
struct Due<Value: Equatable>: Comparable {
    let time: Duration
    let of: Value

    static func < (left: Due, right: Due) -> Bool { left.time < right.time }
}

/// A subject that is compared byte for byte. `==` on strings treats composed and decomposed letters as equal, which are
/// two users to an issuer that compares bytes.
package struct SubjectBytes: Hashable {
    private let issuer: [UInt8]
    private let id: [UInt8]

    package init(_ subject: Subject) {
        issuer = Array(subject.issuer.utf8)
        id = Array(subject.id.utf8)
    }
}
