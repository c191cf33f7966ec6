import SessionJournal

/// News of this process's commits for other processes.
struct OutgoingNews {
    private(set) var heads: [SessionKey: SessionHead] = [:]
    private(set) var changed: Set<SessionKey> = []
    private(set) var known: Set<TokenHash> = []
    private(set) var contended: Set<SessionKey> = []
    private(set) var hasNodes = false
    /// True if a heartbeat is due.
    private(set) var hasBeat = false

    var isEmpty: Bool {
        heads.isEmpty && changed.isEmpty && known.isEmpty && contended.isEmpty && !hasNodes && !hasBeat
    }

    mutating func append(_ session: SessionKey, _ head: SessionHead) { heads[session] = head }

    mutating func change(_ session: SessionKey) { changed.insert(session) }

    mutating func know(_ token: TokenHash) { known.insert(token) }

    mutating func contend(_ session: SessionKey) { contended.insert(session) }

    mutating func changeNodes() { hasNodes = true }

    mutating func beat() { hasBeat = true }

    mutating func add(_ other: OutgoingNews) {
        heads.merge(other.heads) { $1 }
        changed.formUnion(other.changed)
        known.formUnion(other.known)
        contended.formUnion(other.contended)
        hasNodes = hasNodes || other.hasNodes
        hasBeat = hasBeat || other.hasBeat
    }

    /// Returns the messages, each short enough for `NOTIFY`.
    func messages(from sender: UInt64) -> [NewsMessage] {
        var messages: [NewsMessage] = []
        var builder = NewsMessage.Builder(.appended, from: sender)
        func add(_ entry: [UInt8]) {
            if let full = builder.add(entry) { messages.append(full) }
        }
        func begin(_ kind: NewsMessage.Kind) {
            if let last = builder.end() { messages.append(last) }
            builder = NewsMessage.Builder(kind, from: sender)
        }
        for (session, head) in heads {
            add(NewsMessage.bytes(session) + NewsMessage.varint(head.number) + head.nonce.bytes)
        }
        begin(.changed)
        for session in changed { add(NewsMessage.bytes(session)) }
        begin(.known)
        for token in known { add(token.bytes) }
        for session in contended {
            begin(.contended)
            add(NewsMessage.bytes(session))
        }
        begin(.nodes)
        if hasNodes { add([0]) }
        if let last = builder.end() { messages.append(last) }
        return messages
    }
}
