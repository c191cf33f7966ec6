import SessionJournal

/// Decides which requests may begin: each after the earlier ones that it depends on. A plain value under the engine's
/// lock.
///
/// A chain is the list of requests with one key. One write of a chain is ready at a time, so a group of ready writes
/// has at most one append of a session, and sessions take turns.
struct Schedule<Request> {
    typealias ID = UInt64

    /// The writes that a request waits for in addition to those with its keys.
    enum Wait {
        case keys
        /// Writes that end sessions or change their subject, since free tokens and subjects depend on them.
        case directory
        /// All writes.
        case all
    }

    private struct Node {
        let request: Request
        let isWrite: Bool
        let isOfDirectory: Bool
        let keys: [ChainKey]
        var blockers = 0
        var dependents: [ID] = []
    }

    private var nodes: [ID: Node] = [:]
    /// The last unfinished write of each chain.
    private var last: [ChainKey: ID] = [:]
    private var directory: Set<ID> = []
    private var writes: Set<ID> = []
    private var lastID: ID = 0
    /// The number of finished writes.
    private(set) var finishedCount: UInt64 = 0
    /// The value of `finishedCount` after the last write, for each of a few thousand places that sessions share.
    private var sessionFinishes = [UInt64](repeating: 0, count: 4_096)

    /// The number of unfinished requests.
    var count: Int { nodes.count }
    /// The number of unfinished writes.
    var writeCount: Int { writes.count }

    /// Adds a write. Returns its number, and true if it is ready.
    mutating func addWrite(
        _ request: Request, keys: [ChainKey], wait: Wait = .keys, isOfDirectory: Bool = false
    ) -> (ID, isReady: Bool) {
        let (id, isReady) = add(request, keys, wait, isWrite: true, isOfDirectory)
        for key in keys { last[key] = id }
        writes.insert(id)
        if isOfDirectory { directory.insert(id) }
        return (id, isReady)
    }

    /// Adds a read. Returns its number, and true if it is ready.
    mutating func addRead(_ request: Request, keys: [ChainKey], wait: Wait = .keys) -> (ID, isReady: Bool) {
        add(request, keys, wait, isWrite: false, false)
    }

    private mutating func add(
        _ request: Request, _ keys: [ChainKey], _ wait: Wait, isWrite: Bool, _ isOfDirectory: Bool
    ) -> (ID, isReady: Bool) {
        lastID += 1
        var blockers: Set<ID> = []
        switch wait {
        case .keys: break
        case .directory: blockers = directory
        case .all: blockers = writes
        }
        for key in keys { if let blocker = last[key] { blockers.insert(blocker) } }
        for blocker in blockers { nodes[blocker]?.dependents.append(lastID) }
        nodes[lastID] = Node(
            request: request, isWrite: isWrite, isOfDirectory: isOfDirectory, keys: keys, blockers: blockers.count)
        return (lastID, blockers.isEmpty)
    }

    /// Ends a request. Returns those that became ready, in the order of their arrival.
    mutating func finish(_ id: ID) -> [(ID, Request)] {
        guard let node = nodes.removeValue(forKey: id) else { preconditionFailure("cannot finish a request twice") }
        if node.isWrite {
            writes.remove(id)
            finishedCount += 1
            for key in node.keys {
                if last[key] == id { last[key] = nil }
                if case .session(let session) = key { sessionFinishes[Self.place(session)] = finishedCount }
            }
            if node.isOfDirectory { directory.remove(id) }
        }
        var ready: [(ID, Request)] = []
        for dependent in node.dependents {
            guard let index = nodes.index(forKey: dependent) else { continue }
            nodes.values[index].blockers -= 1
            if nodes.values[index].blockers == 0 { ready.append((dependent, nodes.values[index].request)) }
        }
        return ready
    }

    /// True if a write of a session is unfinished, or was finished after this count of finished writes.
    func hasWrites(of session: SessionKey, since count: UInt64) -> Bool {
        last[.session(session)] != nil || sessionFinishes[Self.place(session)] > count
    }

    private static func place(_ session: SessionKey) -> Int { Int(truncatingIfNeeded: session.number) & 4_095 }
}
