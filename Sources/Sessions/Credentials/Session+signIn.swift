import Locking
import MVI
import SessionJournal

extension Session {
    /// Has every store of the session perform its feature's `signedIn`; returns when that is committed, or failed.
    package func tellStores(_ principal: Principal) async {
        let features = core.withLock { $0.stores.map(\.feature) }
        guard !features.isEmpty else { return }
        startLoads(features)
        await withTaskGroup(of: Void.self) { group in
            for feature in features {
                group.addTask { [self] in
                    await withCheckedContinuation { continuation in
                        enqueue(SignInJob(self, feature, principal) { continuation.resume() })
                    }
                }
            }
        }
    }
}

/// Tells a store that somebody has signed in.
private final class SignInJob: QueueJob {
    private let session: Session
    private let feature: FeatureID
    private let principal: Principal
    private let inputs: TurnInputs?
    private let done: @Sendable () -> Void

    init(
        _ session: Session, _ feature: FeatureID, _ principal: Principal, inputs: TurnInputs? = nil,
        done: @escaping @Sendable () -> Void
    ) {
        (self.session, self.feature, self.principal, self.inputs) = (session, feature, principal, inputs)
        self.done = done
    }

    var lane: JobLane { .steps }

    func run() -> (any QueueJob)? {
        switch session.core.withLock({ $0.find(feature, limits: session.shared.limits) }) {
        case .passive(nil): return self
        case .passive, .absent:
            session.drop(self)
            return nil
        case .store(let store, _, _):
            return session.run(
                TurnCall(
                    job: self, store: store, intentID: .signIn, principal: principal,
                    progress: TurnProgress(inputs: inputs, judged: nil), run: store.runner.signedIn(principal),
                    stage: .signIn))
        }
    }

    func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool { session.awaitStores([feature], resume) }

    func again(with progress: TurnProgress) -> any QueueJob {
        SignInJob(session, feature, principal, inputs: progress.inputs ?? inputs, done: done)
    }

    func finished(_ result: JobResult, isSettled: Bool) { done() }
    func end(_ error: StoreError) { done() }
}

extension IntentID {
    /// What the turns of a sign-in go by. Not ASCII, so that no key that a client sends can be it.
    fileprivate static let signIn = IntentID("‹sign-in›")
}
