import DequeModule
import Locking
import MVI
import SessionJournal

extension PostgresEngine {
    /// Enqueues a read, or returns the reason why it is refused.
    func add(
        _ read: Read, keys: [ChainKey], wait: Schedule<Request>.Wait, isAccepted: Bool = false
    ) -> StoreError? {
        let (refusal, wakes) = state.withLock { state -> (StoreError?, Bool) in
            if !isAccepted {
                if state.isClosing { return (.journalClosed, false) }
                if state.waitingReads >= options.waitingReads { return (.tooManyReads, false) }
            }
            state.waitingReads += 1
            let (id, isReady) = state.schedule.addRead(.read(read), keys: keys, wait: wait)
            if isReady { state.reads.append((id, read)) }
            return (nil, isReady)
        }
        if wakes { reader.signal() }
        return refusal
    }

    /// Waits for reads: questions that are asked together, or one other read. Returns nil after the last one.
    func nextReads() -> (reads: [Ready<Read>], seen: UInt64)? {
        while true {
            let (reads, seen, isOver) = state.withLock { state in
                var reads = state.reads.popFirst().map { [$0] } ?? []
                if case .question? = reads.first?.value {
                    while reads.count < options.readsAtOnce, case .question? = state.reads.first?.value {
                        reads.append(state.reads.removeFirst())
                    }
                }
                return (reads, state.schedule.finishedCount, state.isOver)
            }
            if !reads.isEmpty { return (reads, seen) }
            if isOver { return nil }
            reader.wait()
        }
    }

    /// Removes all waiting questions, to be refused.
    func takeQuestions() -> [Ready<Read>] {
        state.withLock { state in
            let questions = Array(state.reads.filter(\.value.isQuestion))
            state.reads.removeAll(where: \.value.isQuestion)
            return questions
        }
    }

    /// True if a session is being written, or was since this count of finished writes.
    func hasWrites(of session: SessionKey, since count: UInt64) -> Bool {
        state.withLock { $0.schedule.hasWrites(of: session, since: count) }
    }

    /// True if a write with one of the keys is in doubt; with a key for any session, if any write is.
    func isInDoubt(_ keys: [ChainKey]) -> Bool {
        state.withLock { state in
            state.lanes.contains { keys.isEmpty ? !$0.inDoubt.isEmpty : $0.inDoubt.contains(keys) }
        }
    }
}
