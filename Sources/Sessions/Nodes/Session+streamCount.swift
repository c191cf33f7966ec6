import Locking
import SessionJournal

/// How many streams a session has on all nodes together. The journal judges.
extension Session {
    /// Notes that a stream was opened; `done` is told whether there may be so many. Where the journal does not answer, there
    /// may.
    func noteStreamOpened(_ done: @escaping @Sendable (Bool) -> Void) {
        let limit = Self.streamsAtOnce * shared.limits.streamsPerSession
        noteStreams(limit: limit) { done((try? $0.get()) ?? true) }
    }

    /// Notes that a stream was closed.
    func noteStreamClosed() { noteStreams(limit: nil) { _ in } }

    private func noteStreams(limit: Int?, _ done: @escaping Done<Bool>) {
        guard let journal = shared.sharedJournal, let node = shared.lease?.id else { return done(.success(true)) }
        let (key, count) = core.withLock { ($0.key, $0.streams.count) }
        // One that is not kept has no state, and streams on each node by itself.
        guard let key else { return done(.success(true)) }
        journal.noteStreams(count, of: key, on: node, limit: limit, done: done)
    }
}
