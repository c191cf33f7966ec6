import MVITesting
import Observation

/// The changes that a view would be drawn again for.
enum Redraws {
    /// Gets one element when anything observable that `reads` reads is set first.
    @MainActor
    static func of(_ reads: @MainActor () -> Void) -> Collected<Void> {
        let changes = Collected<Void>()
        withObservationTracking(reads) { changes.append(()) }
        return changes
    }
}
