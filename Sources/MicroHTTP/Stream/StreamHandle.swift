import Glibc
import Locking
import Synchronization

/// A stream's socket for its source.
package final class StreamHandle: ReactorMember {
    /// Intervals in nanoseconds.
    struct Timing: Sendable {
        var heartbeat: UInt64
        var writeDeadline: UInt64
        /// The largest age; nil for no limit.
        var age: UInt64?
    }

    /// The number of steps in one run before the reactor's other members run.
    private static let stepsPerRun = 32

    /// The largest number of bytes that a client may send on a stream's socket, where none are expected.
    private static let discardLimit = 65_536

    private let descriptor: Int32
    private let isFramed: Bool
    /// Intervals in milliseconds, at least 1.
    private let heartbeat: UInt32
    private let writeDeadline: UInt32
    private let thread: ReactorThread
    private let state: Lock<StreamWriterState>
    /// The time at which it is too old; `UInt64.max` for never, or after its source was told.
    private let end: Atomic<UInt64>

    /// Takes ownership of `descriptor`; the caller calls `open` next.
    init(descriptor: Int32, isFramed: Bool, source: any StreamSource, thread: ReactorThread, timing: Timing) {
        self.descriptor = descriptor
        self.isFramed = isFramed
        self.thread = thread
        func milliseconds(_ time: UInt64) -> UInt32 { UInt32(clamping: max(1, time / 1_000_000)) }
        (heartbeat, writeDeadline) = (milliseconds(timing.heartbeat), milliseconds(timing.writeDeadline))
        let now = monotonicNow()
        state = Lock(StreamWriterState(source: source, now: now))
        end = Atomic(timing.age.map { now + $0 } ?? .max)
    }

    /// Tells the stream that the source may have more. The calling thread writes until the source waits or the socket
    /// is full, unless another thread is writing, which then asks the source again. Never blocks; any thread.
    ///
    /// Must not be called under a lock that the source's methods take.
    package func wake() {
        if state.withLock({ $0.leave(.more) }) { run() }
    }

    /// Ends the stream cleanly, like `StreamStep.finish` without bytes. Never blocks; any thread.
    package func close() {
        if state.withLock({ $0.leave(.close) }) { run() }
    }

    // MARK: For this layer

    /// Registers the socket with the reactor, opens the source and writes its bytes. Called once by the creator.
    func open(_ source: any StreamSource) {
        let now = monotonicNow()
        let first = min(now + UInt64(min(heartbeat, writeDeadline)) * 1_000_000, end.load(ordering: .relaxed))
        let number = thread.add(self, .stream, deadline: first)
        state.withLock { $0.id = number }
        guard thread.watch(descriptor, for: number) else { return end(source, .error) }
        source.opened(self)
        run()
    }

    /// Ends the stream abruptly.
    func abort(_ reason: StreamEnd) {
        if state.withLock({ $0.demandEnd(reason) }) { run() }
    }

    func dismissed() { abort(.shutdown) }

    func ready(_ events: SocketEvents) {
        let runs = state.withLock { state in
            if events.contains(.hangUp) { return state.demandEnd(.peerClosed) }
            var notes: StreamWriterState.Notes = []
            if events.contains(.readable) { notes.insert(.readable) }
            if events.contains(.writable) { notes.insert(.writable) }
            return state.leave(notes)
        }
        if runs { run() }
    }

    func timeReached(_ now: UInt64) -> UInt64? {
        // Only this thread writes it.
        if now >= end.load(ordering: .relaxed) {
            end.store(.max, ordering: .relaxed)
            state.withLock { $0.source }?.aged()
        }
        return lookAtClock(now).map { min($0, end.load(ordering: .relaxed)) }
    }

    private func lookAtClock(_ now: UInt64) -> UInt64? {
        let action = state.withLock {
            $0.timeReached(
                now, heartbeat: UInt64(heartbeat) * 1_000_000, writeDeadline: UInt64(writeDeadline) * 1_000_000)
        }
        switch action {
        case .none: return nil
        case .later(let time): return time
        case .run(let time):
            run()
            return time
        }
    }

    /// Writes until there is nothing to write or no room. Called only by the runner.
    func run() {
        var steps = 0
        var wroteAt: UInt64?
        while true {
            var turn = state.withLock { $0.beginTurn() }
            if let reason = turn.end ?? discardInput(&turn) { return end(turn.source, reason) }
            if turn.notes.contains(.close) { turn.work.closing = true }
            // A started chunk cannot end without its remaining bytes.
            if !turn.work.leftover.isEmpty, turn.source.dropsUnsent { return end(turn.source, .error) }
            let outcome = turn.work.leftover.isEmpty ? step(&turn) : flush(&turn.work)
            let work = turn.work
            switch outcome {
            case .over(let reason): return end(turn.source, reason)
            case .progress:
                wroteAt = monotonicNow()
                steps += 1
                if work.leftover.isEmpty {
                    if work.finishing { return end(turn.source, .finished) }
                    state.withLock { $0.put(work) }
                    // The reactor's thread receives the role and the work; no other thread can take it meanwhile.
                    if steps.isMultiple(of: Self.stepsPerRun), thread.enqueue(state.withLock { $0.id }) { return }
                    continue
                }
            case .complete: wroteAt = monotonicNow()
            case .rest: break
            }
            if state.withLock({ $0.rest(work, wroteAt: wroteAt) }) { return }
        }
    }

    private enum Outcome {
        /// The kernel accepted some bytes.
        case progress
        /// The kernel accepted all bytes until the next wake.
        case complete
        /// Nothing to write, or no room.
        case rest
        case over(StreamEnd)
    }

    private func step(_ turn: inout StreamWriterState.Turn) -> Outcome {
        if turn.work.closing { return write([], last: true, &turn.work) }
        if turn.notes.contains(.heartbeat), let bytes = turn.source.heartbeat(), !bytes.isEmpty {
            return write(bytes, last: false, &turn.work)
        }
        switch turn.source.nextStep() {
        case .write(let bytes): return bytes.isEmpty ? .progress : write(bytes, last: false, &turn.work)
        case .writeAll(let bytes):
            let outcome = write(bytes, last: false, &turn.work)
            if case .progress = outcome, turn.work.leftover.isEmpty { return .complete }
            return outcome
        case .wait: return .rest
        case .finish(let bytes): return write(bytes, last: true, &turn.work)
        }
    }

    private func write(_ bytes: [UInt8], last: Bool, _ work: inout StreamWriterState.Work) -> Outcome {
        work.finishing = last
        switch SocketOutput.write(bytes, to: descriptor, framed: isFramed, last: last) {
        case .taken: return .progress
        case .left(let rest):
            work.leftover = rest
            return .progress
        case .failed(let reason): return .over(reason)
        }
    }

    private func flush(_ work: inout StreamWriterState.Work) -> Outcome {
        switch SocketOutput.write(work.leftover, to: descriptor) {
        case .taken:
            work.leftover = []
            return .progress
        case .left(let rest):
            guard rest.count < work.leftover.count else { return .rest }
            work.leftover = rest
            return .progress
        case .failed(let reason): return .over(reason)
        }
    }

    /// Drops input of the client. Returns a reason to end if it left or keeps sending.
    private func discardInput(_ turn: inout StreamWriterState.Turn) -> StreamEnd? {
        guard turn.notes.contains(.readable) else { return nil }
        switch SocketInput.discard(from: descriptor) {
        case .ended: return .peerClosed
        case .more: return .error
        case .discarded(let count):
            turn.work.discarded += count
            return turn.work.discarded > Self.discardLimit ? .error : nil
        }
    }

    /// Closes the socket and releases the source. Called only by the runner, whose role ends here.
    private func end(_ source: any StreamSource, _ reason: StreamEnd) {
        let id = state.withLock { state in
            state.close()
            return state.id
        }
        thread.unwatch(descriptor)
        Glibc.close(descriptor)
        source.closed(reason)
        thread.remove(id)
    }
}
