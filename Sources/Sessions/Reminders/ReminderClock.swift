import Locking
import MVI
import SessionJournal

/// Knows when the next reminder of any session has to be looked after.
final class ReminderClock: Sendable {
    private struct State {
        /// The earliest that was noted since the last look: since 1970.
        var noted: Duration?
        /// Until when the wait lasts.
        var deadline: Duration = .zero
        var wait: Wait?
        /// Sessions whose reminders are being fired.
        var sessions: Set<TokenHash> = []
    }

    private let state = Lock(State())
    /// A jump of the wall clock, and reminders that others set, are noticed after so long.
    private static let longestWait: Duration = .seconds(30)

    /// A reminder is due at that time: since 1970.
    func note(due: Duration) {
        let wait = state.withLock { state -> Wait? in
            state.noted = min(state.noted ?? due, due)
            return due < state.deadline ? state.wait : nil
        }
        wait?.end(true)
    }

    /// Notes that a session's reminders are being fired; false if they are already.
    func begin(_ session: TokenHash) -> Bool { state.withLock { $0.sessions.insert(session).inserted } }

    /// Whether the reminders of any session are being fired.
    var isFiring: Bool { state.withLock { !$0.sessions.isEmpty } }

    func end(_ session: TokenHash) { state.withLock { _ = $0.sessions.remove(session) } }

    /// What was noted so far is looked after now.
    func beginLook() { state.withLock { $0.noted = nil } }

    /// Waits until `next`, until an earlier reminder is due that was noted since `beginLook`, or for half a minute.
    func wait(until next: Duration?, _ environment: SessionEnvironment) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = environment.time.sinceEpoch()
                let wait = Wait(number: 0) { _ in continuation.resume() }
                let time = state.withLock { state -> Duration in
                    let latest = now + Self.longestWait
                    state.deadline = min(latest, next ?? latest, state.noted ?? latest)
                    state.wait = wait
                    return state.deadline - now
                }
                guard time > .zero, !Task.isCancelled else { return wait.end(true) }
                wait.start(
                    Task(executorPreference: environment.executor) { [clock = environment.clock] in
                        if (try? await clock.sleep(for: time)) != nil { wait.end(false) }
                    })
            }
        } onCancel: {
            state.withLock { $0.wait }?.end(true)
        }
        state.withLock { ($0.wait, $0.deadline) = (nil, .zero) }
    }
}
