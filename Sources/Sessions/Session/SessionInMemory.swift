import Locking
import MVI
import SessionJournal

/// What of a session is in this process's memory, at one moment: for an administrator. Holds no state's value.
package struct SessionInMemory: Sendable {
    /// A store, in memory or not.
    package struct Store: Sendable {
        package let feature: FeatureID
        /// Whether its state is in memory.
        package let isLoaded: Bool
        /// Tasks of launched work that run here.
        package let runningWork: Int
    }

    /// An open stream.
    package struct Stream: Sendable {
        /// Tells it from the other streams of this process.
        package let number: UInt64
        package let age: Duration
        /// What it shows: nil for all stores.
        package let features: [FeatureID]?
        /// Of the client that opened it; nil where nobody has signed in.
        package let credential: Int?
        /// Events handed to its connection, pings apart.
        package let events: UInt64
        /// View states that it has yet to show.
        package let waitingStates: Int
        /// Labels that it has yet to look at.
        package let waitingLabels: Int
        /// Whether it was told to go.
        package let isEnding: Bool
    }

    package let id: String
    package let subject: Subject?
    package let isShared: Bool
    package let credential: SessionCredential
    /// Time since 1970, as the next two.
    package let created: Duration
    package let lastUsed: Duration
    /// When it ends if nothing comes any more.
    package let expiresAt: Duration
    package let epoch: String
    /// The number of its last turn that was applied here.
    package let head: UInt64
    /// In the order of their names.
    package let stores: [Store]
    /// The oldest first.
    package let streams: [Stream]
    package let labels: Int
    package let receipts: Int
    /// Jobs that wait for their turn.
    package let waitingJobs: Int
    /// Requests that wait for the end of work, or for a state to change.
    package let waitingRequests: Int
}

extension Session {
    /// What an administrator is shown. Does not count as use.
    var inMemory: SessionInMemory {
        let now = Moment(shared.time)
        let left = timeLeft(now: now.monotonic)
        return core.withLock { core in
            SessionInMemory(
                id: id, subject: info.subject, isShared: isShared, credential: credential, created: created,
                lastUsed: now.sinceEpoch(core.streams.isEmpty ? core.lastTouch : now.monotonic),
                expiresAt: now.sinceEpoch + left, epoch: core.epoch, head: core.head.number,
                stores: core.stores.map { slot in
                    SessionInMemory.Store(
                        feature: slot.feature, isLoaded: slot.store != nil,
                        runningWork: slot.store?.diagnostics.runningWork ?? 0)
                }.sorted { $0.feature.text < $1.feature.text },
                streams: core.streams.all.indices.map { core.stream($0, now: now.monotonic) },
                labels: core.outbox.count, receipts: core.receipts.count, waitingJobs: queue.length,
                waitingRequests: core.waits.count)
        }
    }
}

extension SessionCore {
    fileprivate func stream(_ index: Int, now: Duration) -> SessionInMemory.Stream {
        let stream = streams.all[index]
        var features: [FeatureID]?
        if case .features(let named) = stream.filter { features = named }
        return SessionInMemory.Stream(
            number: stream.number, age: now - stream.opened, features: features, credential: stream.credential?.number,
            events: stream.events, waitingStates: stream.dirty.count,
            waitingLabels: outbox.count - outbox.index(from: stream.nextLabel), isEnding: stream.farewell != nil)
    }
}

/// A session in this process as a test of its features sees and drives it.
extension Session {
    /// A store that is in memory; nil if it is not.
    package func store(inMemory feature: FeatureID) -> SessionStore? { core.withLock { $0.stores[feature]?.store } }

    /// The stores that are in memory, in the order of their names.
    package var storesInMemory: [SessionStore] {
        core.withLock { core in
            core.stores.sorted { $0.feature.text < $1.feature.text }.compactMap { $0.store }
        }
    }

    /// The reminders that features set and that are kept, the one that is due first at the front.
    package var keptReminders: [StoredReminder] { core.withLock { $0.reminders.map(\.stored).filter { !$0.isSignIn } } }

    /// When the next reminder is to fire, a later try after a throw included; nil if there is none: since 1970.
    package var nextReminder: Duration? { core.withLock { $0.nextReminder } }

    /// Calls `done` when the turns that wait now are over.
    package func afterWaitingTurns(_ done: @escaping @Sendable () -> Void) {
        enqueue(.steps, done: { _ in done() }) { _ in false }
    }
}
