import SessionJournal

/// Which requests may be begun: each after the earlier ones that it depends on. Plain data; the engine's lock guards it.
///
/// Of a chain, the requests with one key, one write is ready at a time. So a group of what is ready has one append of a
/// session at most, and sessions take turns.
struct Schedule<Request> {
    typealias ID = UInt64

    /// What a request waits for beside its keys.
    enum Wait {
        case keys
        /// Writes that end sessions or change whose they are: what tokens and subjects are free depends on them.
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
    /// Of each chain the last write that is not finished.
    private var last: [ChainKey: ID] = [:]
    private var directory: Set<ID> = []
    private var writes: Set<ID> = []
    private var lastID: ID = 0
    /// How many writes were finished.
    private(set) var finishedCount: UInt64 = 0
    /// Of each of some thousand places for sessions the value of `finishedCount` after the last write.
    private var sessionFinishes = [UInt64](repeating: 0, count: 4_096)

    /// How many requests are not finished.
    var count: Int { nodes.count }
    /// How many of them are writes.
    var writeCount: Int { writes.count }

    /// Adds a write; returns its number, and whether it is ready.
    mutating func addWrite(
        _ request: Request, keys: [ChainKey], wait: Wait = .keys, isOfDirectory: Bool = false
    ) -> (ID, isReady: Bool) {
        let (id, isReady) = add(request, keys, wait, isWrite: true, isOfDirectory)
        for key in keys { last[key] = id }
        writes.insert(id)
        if isOfDirectory { directory.insert(id) }
        return (id, isReady)
    }

    /// Adds a read; returns its number, and whether it is ready.
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

    /// Ends a request; returns those that are ready now, in the order in which they came.
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

    /// Whether a write of a session is not finished, or was finished after so many writes had been.
    func hasWrites(of session: SessionKey, since count: UInt64) -> Bool {
        last[.session(session)] != nil || sessionFinishes[Self.place(session)] > count
    }

    private static func place(_ session: SessionKey) -> Int { Int(truncatingIfNeeded: session.number) & 4_095 }
}
