import Locking
import MVI
import SessionJournal

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
        enqueue(FunctionJob(.steps, completion: { _ in done() }) { [self] job in drop(job) })
    }
}
