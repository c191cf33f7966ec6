import DequeModule
import Dispatch
import Locking
import Logging
import MVI
import PostgreSQL
import SessionJournal

/// The state that the journal's threads share: waiting requests, their order, and each connection's status.
///
/// Callers add requests and return. A ready request goes to the queue of a writer's connection, always the same one for
/// a session, or to the one queue of all readers. See `Schedule` for the order.
final class PostgresEngine: Sendable {
    /// A request that is ready.
    typealias Ready<Value> = (id: Schedule<Request>.ID, value: Value)

    /// The queue of one writer.
    struct Lane {
        var appends: Deque<Ready<Write>> = []
        var statements: Deque<Ready<Write>> = []
        var steps: Deque<Ready<Write>> = []
        var streams: Deque<Ready<Write>> = []
        var isAsleep = false
        var trouble: StoreError?
        var inDoubt = InDoubtWrites()

        var isEmpty: Bool { appends.isEmpty && statements.isEmpty && steps.isEmpty && streams.isEmpty }
    }

    struct State {
        var schedule = Schedule<Request>()
        var lanes: [Lane]
        var reads: Deque<Ready<Read>> = []
        /// News of the writers' commits for other processes.
        var news = OutgoingNews()
        var waitingBytes = 0
        var waitingReads = 0
        var isClosing = false
        var statistics = PostgresStatistics()
        var sessions = SessionCount()
        var runningThreads = 0
        var hasEnded = false
        var endWaiters: [CheckedContinuation<Void, Never>] = []

        /// True if the journal is closed and no request is left.
        var isOver: Bool { isClosing && schedule.count == 0 }
    }

    let target: ConnectionTarget
    /// The database for the listener's connection.
    let listenTarget: ConnectionTarget
    let channels: NewsChannels
    let hearing = Lock(NewsHearing())
    let options: PostgresOptions
    let statements: Statements
    let logger: Logger
    let completions: CompletionThreads
    let meter = Lock<(any JournalMeter)?>(nil)
    /// See `DatabaseSetup.noteDurability`.
    let weakSettings = Lock<[String: String]>([:])
    /// The last position of the database's log that a commit of this process was behind.
    let acknowledged = Lock(LogPosition())
    /// True if the database has nothing of the subjects in `PostgresOptions.forgottenList`.
    let appliedForgotten: Lock<Bool>
    let state: Lock<State>
    private let writers: [DispatchSemaphore]
    let reader = DispatchSemaphore(value: 0)
    private let maintenance = DispatchSemaphore(value: 0)

    init?(_ target: ConnectionTarget, listen: ConnectionTarget, options: PostgresOptions, logger: Logger) {
        guard let completions = CompletionThreads(count: options.completionThreads) else { return nil }
        (self.target, self.options, self.logger, self.completions) = (target, options, logger, completions)
        appliedForgotten = Lock(options.forgottenList == nil)
        (listenTarget, channels) = (listen, NewsChannels(schema: options.schema))
        statements = Statements(schema: options.schema)
        let lanes = 0..<(options.writers + 3)
        state = Lock(State(lanes: lanes.map { _ in Lane() }))
        writers = lanes.map { _ in DispatchSemaphore(value: 0) }
    }

    /// The writer for streams, reminders of all sessions, and outgoing news.
    var newsLane: Int { options.writers }
    /// The writer for nodes alone: renewals must not wait, since a node without renewals is presumed dead.
    var nodeLane: Int { options.writers + 1 }
    /// The writer for expiry and deletions, whose steps take longer than a client waits.
    var upkeepLane: Int { options.writers + 2 }
    /// All writers. The last three connect when they are needed.
    var lanes: Range<Int> { 0..<writers.count }

    var place: String { "\(target.description), schema \(options.schema)" }

    // MARK: Requests

    /// Enqueues a write, or returns the reason why it is refused.
    ///
    /// - Parameter isAccepted: True if it continues an accepted request.
    func add(
        _ write: Write, wait: Schedule<Request>.Wait = .keys, isOfDirectory: Bool = false, isAccepted: Bool = false
    ) -> StoreError? {
        let lane = lane(of: write)
        let (refusal, wakes) = state.withLock { state -> (StoreError?, Bool) in
            if !isAccepted {
                if state.isClosing { return (.journalClosed, false) }
                if state.schedule.writeCount >= options.waitingItems || state.waitingBytes > options.waitingBytes {
                    return (.tooMuchWaits, false)
                }
            }
            state.waitingBytes += write.bytes
            let (id, isReady) = state.schedule.addWrite(
                .write(write), keys: write.keys, wait: wait, isOfDirectory: isOfDirectory)
            guard isReady else { return (nil, false) }
            Self.enqueue((id, write), in: &state.lanes[lane])
            defer { state.lanes[lane].isAsleep = false }
            return (nil, state.lanes[lane].isAsleep)
        }
        if wakes { writers[lane].signal() }
        return refusal
    }

    /// Ends requests whose results are enqueued, and enqueues those that waited for them.
    func finish(_ ids: [Schedule<Request>.ID], bytes: Int = 0, reads: Int = 0) {
        var wakes: [Int] = []
        let (newReads, isOver) = state.withLock { state in
            state.waitingBytes -= bytes
            state.waitingReads -= reads
            var newReads = 0
            for (id, request) in ids.flatMap({ state.schedule.finish($0) }) {
                switch request {
                case .write(let write):
                    let lane = lane(of: write)
                    Self.enqueue((id, write), in: &state.lanes[lane])
                    if state.lanes[lane].isAsleep {
                        state.lanes[lane].isAsleep = false
                        wakes.append(lane)
                    }
                case .read(let read):
                    state.reads.append((id, read))
                    newReads += 1
                }
            }
            return (newReads, state.isOver)
        }
        for lane in wakes { writers[lane].signal() }
        for _ in 0..<newReads { reader.signal() }
        if isOver { wakeAll() }
    }

    /// Returns the writer of a session, a token or an id, always the same for one key.
    private func lane(of write: Write) -> Int {
        let place: Int
        switch write.keys.first {
        case .session(let session)?: place = Int(truncatingIfNeeded: session.number)
        case .token(let token)?: place = token.shard
        case .id?, .shared?: place = 0
        case .streams?, .alarms?: return newsLane
        case .node?: return nodeLane
        case nil: return upkeepLane
        }
        return Int(UInt(bitPattern: place) % UInt(options.writers))
    }

    private static func enqueue(_ ready: Ready<Write>, in lane: inout Lane) {
        switch ready.value.work {
        case .append: lane.appends.append(ready)
        case .statement: lane.statements.append(ready)
        case .steps: lane.steps.append(ready)
        case .streams: lane.streams.append(ready)
        }
    }

    // MARK: Writers

    /// Returns a lane's next task, alternating between kinds; nil if there is none.
    func nextTask(_ index: Int, after last: inout Int) -> Task? {
        state.withLock { state in
            for _ in 0..<4 {
                last = (last + 1) % 4
                switch last {
                case 0: if let write = state.lanes[index].steps.popFirst() { return .steps(write) }
                case 1:
                    let writes = Self.take(from: &state.lanes[index].statements, count: 64, bytes: options.groupBytes)
                    if !writes.isEmpty { return .statements(writes) }
                case 2:
                    let writes = Self.take(
                        from: &state.lanes[index].streams, count: options.groupItems, bytes: options.groupBytes)
                    if !writes.isEmpty { return .streams(writes) }
                default:
                    let writes = Self.take(
                        from: &state.lanes[index].appends, count: options.groupItems, bytes: options.groupBytes)
                    if !writes.isEmpty { return .group(writes) }
                }
            }
            return nil
        }
    }

    private static func take(from queue: inout Deque<Ready<Write>>, count: Int, bytes: Int) -> [Ready<Write>] {
        var (taken, size): ([Ready<Write>], Int) = ([], 0)
        while taken.count < count, let next = queue.first {
            guard taken.isEmpty || size + next.value.bytes <= bytes else { break }
            size += next.value.bytes
            taken.append(queue.removeFirst())
        }
        return taken
    }

    /// Removes everything that is ready in a lane, to be refused.
    func takeAll(_ index: Int) -> [Ready<Write>] {
        state.withLock { state in
            let lane = state.lanes[index]
            (state.lanes[index].appends, state.lanes[index].statements) = ([], [])
            (state.lanes[index].steps, state.lanes[index].streams) = ([], [])
            return Array(lane.appends) + Array(lane.statements) + Array(lane.steps) + Array(lane.streams)
        }
    }

    /// Waits until a lane has a ready request, or news if it sends them, at most for a time.
    func waitForTask(_ index: Int, atMost time: Duration) {
        let sleeps = state.withLock { state in
            if !state.lanes[index].isEmpty || state.isOver || index == newsLane && !state.news.isEmpty { return false }
            state.lanes[index].isAsleep = true
            return true
        }
        guard sleeps else { return }
        _ = writers[index].wait(timeout: .now() + .nanoseconds(Int(max(0, time.nanoseconds))))
        state.withLock { $0.lanes[index].isAsleep = false }
    }

    func hasTask(_ index: Int) -> Bool {
        state.withLock { !$0.lanes[index].isEmpty || index == newsLane && !$0.news.isEmpty }
    }

    /// Passes news to the lane that sends them. A writer would have to wait for the response before its next group,
    /// since a pooler accepts no statement before.
    func leaveNews(_ news: OutgoingNews) {
        let wakes = state.withLock { state in
            state.news.add(news)
            defer { state.lanes[newsLane].isAsleep = false }
            return state.lanes[newsLane].isAsleep
        }
        if wakes { writers[newsLane].signal() }
    }

    /// Returns all passed news.
    func takeNews() -> OutgoingNews {
        state.withLock { state in
            defer { state.news = OutgoingNews() }
            return state.news
        }
    }

    var isClosing: Bool { state.withLock { $0.isClosing } }

    var isOver: Bool { state.withLock { $0.isOver } }

    func laneTrouble(_ index: Int) -> StoreError? { state.withLock { $0.lanes[index].trouble } }

    func noteTrouble(_ trouble: StoreError?, of index: Int) { state.withLock { $0.lanes[index].trouble = trouble } }

    func noteInDoubt(_ writes: [Write], of index: Int) {
        state.withLock { state in for write in writes { state.lanes[index].inDoubt.insert(write) } }
    }

    func endDoubt(of index: Int) { state.withLock { $0.lanes[index].inDoubt = InDoubtWrites() } }

    func isInDoubt(_ index: Int) -> Bool { state.withLock { !$0.lanes[index].inDoubt.isEmpty } }

    // MARK: Maintenance

    /// Starts a round of maintenance at once.
    func wakeMaintenance() { maintenance.signal() }

    func waitForMaintenance(atMost time: Duration) {
        _ = maintenance.wait(timeout: .now() + .nanoseconds(Int(max(0, time.nanoseconds))))
    }

    /// Makes lanes without a connection retry now.
    func wakeWriters() { for writer in writers { writer.signal() } }

    // MARK: State

    var trouble: StoreError? {
        state.withLock { state in
            state.isClosing ? .journalClosed : state.lanes.lazy.compactMap(\.trouble).first
        }
    }

    var statistics: PostgresStatistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.queueLength = state.schedule.writeCount
            return statistics
        }
    }

    func count(_ change: (inout PostgresStatistics) -> Void) { state.withLock { change(&$0.statistics) } }

    func withSessions<Value>(_ body: (inout SessionCount) -> Value) -> Value { state.withLock { body(&$0.sessions) } }

    // MARK: The end

    /// Refuses further requests. The threads end when all waiting ones are done.
    func close() {
        state.withLock { $0.isClosing = true }
        endListening()
        wakeAll()
    }

    private func wakeAll() {
        wakeWriters()
        for _ in 0..<options.readers { reader.signal() }
        maintenance.signal()
    }

    /// Counts another thread and returns true if the journal is still open.
    func threadStartedIfOpen() -> Bool {
        state.withLock { state in
            if !state.isClosing { state.runningThreads += 1 }
            return !state.isClosing
        }
    }

    func threadStarted() { state.withLock { $0.runningThreads += 1 } }

    /// A thread's last step. The last thread ends the journal.
    func threadEnded() {
        let isLast = state.withLock { state in
            state.runningThreads -= 1
            return state.runningThreads == 0
        }
        guard isLast else { return }
        completions.end()
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.endWaiters = [] }
            return state.endWaiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.endWaiters.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }
}
