import Locking
import MVI
import SessionJournal

/// A session's data in this process's memory at one moment, for an administrator. Contains no state's value.
package struct SessionInMemory: Sendable {
    /// A store, in memory or not.
    package struct Store: Sendable {
        package let feature: FeatureID
        /// True if its state is in memory.
        package let isLoaded: Bool
        /// The number of tasks of launched work that run here.
        package let runningWork: Int
    }

    /// An open stream.
    package struct Stream: Sendable {
        /// The number that identifies the stream in this process.
        package let number: UInt64
        package let age: Duration
        /// The features that it shows; nil for all stores.
        package let features: [FeatureID]?
        /// The number of the client's credential; nil if no client has signed in.
        package let credential: Int?
        /// The number of events passed to its connection, without pings.
        package let events: UInt64
        /// The number of view states that it has yet to show.
        package let waitingStates: Int
        /// The number of labels that it has yet to look at.
        package let waitingLabels: Int
        /// True if it was told to end.
        package let isEnding: Bool
    }

    package let id: String
    package let subject: Subject?
    package let isShared: Bool
    package let credential: SessionCredential
    /// Time since 1970, as the next two.
    package let created: Duration
    package let lastUsed: Duration
    /// The time at which it expires without further use.
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
    /// The number of jobs that wait for their turn.
    package let waitingJobs: Int
    /// The number of requests that wait for the end of work or for a state to change.
    package let waitingRequests: Int
}

extension Session {
    /// The description for an administrator. Does not count as use.
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

/// Access to a session in this process for tests of its features.
extension Session {
    /// Returns a store that is in memory; nil if it is not.
    package func store(inMemory feature: FeatureID) -> SessionStore? { core.withLock { $0.stores[feature]?.store } }

    /// The stores that are in memory, in the order of their names.
    package var storesInMemory: [SessionStore] {
        core.withLock { core in
            core.stores.sorted { $0.feature.text < $1.feature.text }.compactMap { $0.store }
        }
    }

    /// The committed reminders of features, the next one first.
    package var keptReminders: [StoredReminder] {
        core.withLock { $0.reminders.map(\.stored).filter(\.isAction) }
    }

    /// The messages that wait for their receivers, in the order in which a feature instance told them.
    package func keptMessages(of feature: FeatureID) -> [Message] {
        let kept = core.withLock { core in core.reminders.filter { $0.stored.feature == feature } }
        return kept.compactMap(\.event.message).sorted { $0.isBefore($1) }
    }

    /// The time since 1970 at which the next reminder fires, including retries after a throw; nil if there is none.
    package var nextReminder: Duration? { core.withLock { $0.nextReminder } }

    /// Calls `done` when the turns that wait now are over.
    package func afterWaitingTurns(_ done: @escaping @Sendable () -> Void) {
        enqueue(.steps, done: { _ in done() }) { _ in false }
    }
}
