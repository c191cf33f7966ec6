import CMicroHTTPD
import Glibc
import Locking
import Synchronization

/// A library that a reactor's thread runs.
protocol LoopDriver: AnyObject, Sendable {
    /// The descriptor that is readable when there is something to do.
    var descriptor: Int32 { get }

    /// Does what there is to do without blocking. Called on the reactor's thread, last in a round of its loop.
    func run() -> DriverPause
}

/// The time until a driver runs again, unless its descriptor becomes ready or `requestRun` is called earlier.
enum DriverPause { case none, millisecond, untilReady }

/// An epoll loop on one thread, with its timer wheel, for members and one driver.
///
/// Members are found by a number that is never reused, not by pointer or descriptor, so that a pending event of a
/// removed member finds nothing.
final class ReactorThread: Sendable {
    private struct Member {
        var object: any ReactorMember
        var kind: ReactorMemberKind
    }

    private struct State {
        var members: [UInt64: Member] = [:]
        var counts = [Int](repeating: 0, count: ReactorMemberKind.allCases.count)
        var wheel: TimerWheel
        var queue: [UInt64] = []
        var tasks: [@Sendable () -> Void] = []
        var driver: (any LoopDriver)?
        var isDriverDue = false
        /// True from before `epoll_wait` until it returns or the alarm is rung.
        var isAsleep = false
        var lastID: UInt64 = 0
        /// The time of the loop's next timer check. An earlier deadline must wake it.
        var sleepsUntil: UInt64 = 0
        var isHalted = false
        var thread: SystemThread?
    }

    /// The number of the driver's events. Members' numbers begin at 1 and do not reach it.
    private static let driverID = UInt64.max

    private let state: Lock<State>
    private let epoll: Int32
    private let alarm: Int32
    /// The time at which the loop's round began.
    private let begun: Atomic<UInt64>
    private let changed: @Sendable () -> Void

    init?(granularity: UInt64, changed: @escaping @Sendable () -> Void) {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        alarm = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        begun = Atomic(monotonicNow())
        state = Lock(State(wheel: TimerWheel(granularity: granularity, slotCount: 512, now: monotonicNow())))
        self.changed = changed
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data(u64: 0))
        guard epoll >= 0, alarm >= 0, epoll_ctl(epoll, EPOLL_CTL_ADD, alarm, &event) == 0 else { return nil }
        guard let thread = SystemThread({ [self] in loop() }) else { return nil }
        state.withLock { $0.thread = thread }
    }

    deinit {
        if epoll >= 0 { close(epoll) }
        if alarm >= 0 { close(alarm) }
    }

    /// The time at which the loop's round began, for its thread: deadlines of seconds need no clock of their own.
    var roundTime: UInt64 { begun.load(ordering: .relaxed) }

    // MARK: For any thread

    /// Adds a member with its first deadline and returns its number.
    func add(_ member: any ReactorMember, _ kind: ReactorMemberKind, deadline: UInt64) -> UInt64 {
        change { state in
            state.lastID += 1
            state.members[state.lastID] = Member(object: member, kind: kind)
            state.counts[kind.rawValue] += 1
            state.wheel.insert(state.lastID, at: deadline)
            return (state.lastID, wakes: deadline < state.sleepsUntil)
        }
    }

    /// Runs `driver` from now on. Called once. Returns false if the system refuses to watch its descriptor.
    func drive(_ driver: any LoopDriver) -> Bool {
        state.withLock { $0.driver = driver }
        return watch(driver.descriptor, for: Self.driverID)
    }

    /// Makes the loop run its driver.
    func requestRun() {
        change { state in
            state.isDriverDue = true
            return ((), wakes: true)
        }
    }

    /// Runs `task` on the loop's thread. Returns false if the loop has ended.
    func perform(_ task: @escaping @Sendable () -> Void) -> Bool {
        change { state in
            if !state.isHalted { state.tasks.append(task) }
            return (!state.isHalted, wakes: !state.isHalted)
        }
    }

    /// Reports edge-triggered events of `descriptor` to member `id`. Returns false if the system refuses.
    func watch(_ descriptor: Int32, for id: UInt64, hangUpOnly: Bool = false) -> Bool {
        let all = EPOLLIN.rawValue | EPOLLOUT.rawValue
        var event = epoll_event(
            events: (hangUpOnly ? 0 : all) | EPOLLRDHUP.rawValue | EPOLLET.rawValue, data: epoll_data(u64: id))
        return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
    }

    /// Stops reporting. Called before the descriptor is closed, since another descriptor may share the socket.
    func unwatch(_ descriptor: Int32) {
        var event = epoll_event()
        epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)
    }

    /// Removes a member. Its pending events and timers are dropped.
    func remove(_ id: UInt64) {
        let removed = state.withLock { state in
            let member = state.members.removeValue(forKey: id)
            if let member { state.counts[member.kind.rawValue] -= 1 }
            return member
        }
        if removed != nil { changed() }
    }

    /// Makes the loop call the member's `run`. Returns false if the loop has ended.
    func enqueue(_ id: UInt64) -> Bool {
        change { state in
            if !state.isHalted { state.queue.append(id) }
            return (!state.isHalted, wakes: !state.isHalted)
        }
    }

    /// Adds an earlier deadline for a member; the later one remains and fires too.
    func setDeadline(_ deadline: UInt64, for id: UInt64) {
        change { state in
            state.wheel.insert(id, at: deadline)
            return ((), wakes: deadline < state.sleepsUntil)
        }
    }

    func count(of kind: ReactorMemberKind) -> Int { state.withLock { $0.counts[kind.rawValue] } }

    func members(where isWanted: (ReactorMemberKind) -> Bool) -> [any ReactorMember] {
        state.withLock { $0.members.values.filter { isWanted($0.kind) }.map(\.object) }
    }

    /// Ends the loop, waits for its thread, and runs the tasks that it left here, since they may use the driver, which
    /// its owner stops after that. Not to be called from the loop itself.
    func halt() {
        let thread = state.withLock { state in
            state.isHalted = true
            defer { (state.thread, state.driver) = (nil, nil) }
            return state.thread
        }
        ring()
        thread?.join()
        let left = state.withLock { state in
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in left { task() }
    }

    /// Changes the state, and wakes the loop if it sleeps and has to notice the change.
    private func change<Result>(_ body: (inout State) -> (Result, wakes: Bool)) -> Result {
        let (result, rings) = state.withLock { state in
            let (result, wakes) = body(&state)
            guard wakes, state.isAsleep else { return (result, false) }
            state.isAsleep = false
            return (result, true)
        }
        if rings { ring() }
        return result
    }

    private func ring() {
        eventfd_write(alarm, 1)
    }

    // MARK: The loop

    private func loop() {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 256) { events in
            guard let first = events.baseAddress else { return }
            var driverPause = DriverPause.untilReady
            while let pause = pauseBeforeNextDeadline(driverPause) {
                let count = epoll_wait(epoll, first, Int32(events.count), pause)
                let now = monotonicNow()
                begun.store(now, ordering: .relaxed)
                var isDriverDue = driverPause != .untilReady
                for index in 0..<max(0, Int(count)) {
                    if events[index].data.u64 == Self.driverID { isDriverDue = true } else { dispatch(events[index]) }
                }
                runQueue()
                runTimers(now)
                // Last, so that it sends what all others have answered.
                driverPause = runDriver(isDriverDue)
            }
        }
    }

    /// Returns the milliseconds to wait for events: -1 without a deadline, nil if the loop has ended.
    private func pauseBeforeNextDeadline(_ driver: DriverPause) -> Int32? {
        let now = monotonicNow()
        return state.withLock { state in
            guard !state.isHalted else { return nil }
            guard state.queue.isEmpty, state.tasks.isEmpty, !state.isDriverDue, driver != .none else {
                state.sleepsUntil = 0
                return 0
            }
            state.isAsleep = true
            let latest = driver == .millisecond ? now + 1_000_000 : .max
            guard let deadline = state.wheel.nextDeadline ?? (latest == .max ? nil : latest) else {
                state.sleepsUntil = .max
                return -1
            }
            state.sleepsUntil = deadline
            let end = min(deadline, latest)
            guard end > now else { return 0 }
            return Int32(min((end - now + 999_999) / 1_000_000, UInt64(Int32.max)))
        }
    }

    private func runDriver(_ isDue: Bool) -> DriverPause {
        let driver = state.withLock { state -> (any LoopDriver)? in
            guard isDue || state.isDriverDue else { return nil }
            state.isDriverDue = false
            return state.driver
        }
        return driver?.run() ?? .untilReady
    }

    private func dispatch(_ event: epoll_event) {
        let id = event.data.u64
        guard id != 0 else {
            var value: eventfd_t = 0
            eventfd_read(alarm, &value)
            return
        }
        let found = state.withLock { state in
            state.isAsleep = false
            return state.members[id]?.object
        }
        guard let member = found else { return }
        var events: SocketEvents = []
        if event.events & EPOLLIN.rawValue != 0 { events.insert(.readable) }
        if event.events & EPOLLOUT.rawValue != 0 { events.insert(.writable) }
        if event.events & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 {
            events.insert(.hangUp)
        }
        member.ready(events)
    }

    /// Called on the loop's thread, or after it has ended.
    func runQueue() {
        let (members, tasks) = state.withLock { state in
            defer {
                state.queue.removeAll(keepingCapacity: true)
                state.tasks = []
                state.isAsleep = false
            }
            return (state.queue.compactMap { state.members[$0]?.object }, state.tasks)
        }
        members.forEach { $0.run() }
        for task in tasks { task() }
    }

    private func runTimers(_ now: UInt64) {
        let due = state.withLock { state in
            state.wheel.advance(to: now).compactMap { id in state.members[id].map { (id, $0.object) } }
        }
        for (id, member) in due {
            guard let next = member.timeReached(now) else { continue }
            state.withLock { state in
                if state.members[id] != nil { state.wheel.insert(id, at: next) }
            }
        }
    }
}
