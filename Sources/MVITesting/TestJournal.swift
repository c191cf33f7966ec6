import Locking
import MVI
import SessionJournal

/// A test's journal: another one, in memory for a test store, with appends that fail while the test wants it so.
package final class TestJournal: InterposedJournal {
    package let base: any Journal
    private let failure = Lock<StoreError?>(nil)
    private let counts = Lock(Counts())
    private let signal = Signal()

    private struct Counts {
        var appends = 0
        var operations = 0
        var open = 0
    }

    package init(_ base: any Journal = MemoryJournal()) { self.base = base }

    /// Lets each append fail with an error from now on; nil ends this.
    package func fail(_ error: StoreError?) { failure.withLock { $0 = error } }

    /// The number of appends, including failed ones.
    package var appendCount: Int { counts.withLock { $0.appends } }

    /// The number of operations that were started.
    package var operationCount: Int { counts.withLock { $0.operations } }

    /// Returns true when each operation has ended and its completion has returned; false if that takes longer than the
    /// limit.
    package func settled(atMost limit: Duration) async -> Bool {
        await signal.wait(atMost: limit) { self.counts.withLock { $0.open == 0 } }
    }

    package func perform<Value: Sendable>(
        _ operation: JournalOperation, _ done: @escaping Done<Value>,
        _ body: @escaping @Sendable (@escaping Done<Value>) -> Void
    ) {
        begin()
        body { result in
            done(result)
            self.end()
        }
    }

    private func begin() {
        counts.withLock { counts in
            counts.operations += 1
            counts.open += 1
        }
    }

    private func end() {
        counts.withLock { $0.open -= 1 }
        signal.send()
    }

    package var trouble: StoreError? { failure.withLock { $0 } ?? base.trouble }

    package func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        counts.withLock { $0.appends += 1 }
        if let failure = failure.withLock({ $0 }) { return .failed(failure) }
        begin()
        let result = base.append(batch) { result in
            done(result)
            self.end()
        }
        if result != nil { end() }
        return result
    }
}

extension Journal {
    /// Returns the result of a call to a journal in memory, which is available when the call returns.
    package func now<Value: Sendable>(_ body: (@escaping Done<Value>) -> Void) throws(StoreError) -> Value {
        let box = Lock<Result<Value, StoreError>?>(nil)
        body { result in box.withLock { $0 = result } }
        guard let result = box.withLock({ $0 }) else {
            preconditionFailure("a journal in memory answers before the call returns")
        }
        return try result.get()
    }
}

extension TestJournal {
    /// Changes a store as another server on the same journal does, without notifying this process. Returns false if
    /// there is no such store.
    func write(
        _ feature: FeatureID, of session: SessionKey, at time: Duration, schemaVersion: Int, state: [UInt8],
        view: [UInt8]
    ) throws(StoreError) -> Bool {
        while true {
            guard let stored = try now({ load(session, since: .empty, done: $0) }),
                let store = stored.changed.first(where: { $0.summary.feature == feature })
            else { return false }
            let head = SessionHead(number: stored.head.number + 1, nonce: .random(in: .min ... .max))
            let change = StoreChange(
                feature: feature, kind: .changed, number: head.number, version: head.number,
                made: store.summary.made, schemaVersion: schemaVersion, state: state, view: view)
            let batch = JournalBatch(
                session: session, expecting: stored.head, head: head, time: time, stores: [change])
            // Work of the session that was resumed elsewhere may have been faster.
            switch base.append(batch, done: { _ in }) {
            case .committed?: return true
            case .conflict?: continue
            case .failed(let error)?, .unknown(let error)?: throw error
            case .duplicate?, .callersChanged?, .heardBefore?, nil:
                preconditionFailure("a journal in memory answers at once, and the batch has no receipt and no caller")
            }
        }
    }
}
