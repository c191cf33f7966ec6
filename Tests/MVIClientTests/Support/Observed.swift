import MVITesting
import Observation

/// Returns when the condition holds, which is asked again when anything observable in it has changed.
@MainActor
func observed(_ condition: @MainActor () -> Bool) async {
    while true {
        let changed = Gate()
        if withObservationTracking(condition, onChange: { changed.open() }) { return }
        // Told before the change: what waits on the main actor goes on after it.
        try? await changed.wait()
    }
}
