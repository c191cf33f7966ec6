import Crypto
import Locking
import MVI
import SessionJournal

/// What became of a refusal that uses a number up.
public enum NumberUse: Sendable {
    /// It is not the number's turn, or the number was used for something else: nothing is kept.
    case none
    /// The number is used up.
    case used
    /// The number was used up by the same refusal before.
    case before
    /// It could not be kept, or a request with the number is under way: told of the refusal, the client would go on to
    /// a number that is one too high.
    case failed(IntentRefusal)
}

extension Session {
    /// Uses up the number of a request that was refused before it could be accepted, as `accept` does for its own
    /// refusals. `completion` is called once, when that is kept or cannot be.
    public func useUp(
        _ name: IntentRequest.Name, status: Int, body: [UInt8], completion: @escaping @Sendable (NumberUse) -> Void
    ) {
        let (use, key) = take(name, status: status, body: body, isAnswered: false)
        guard case .used = use, let key else { return completion(use) }
        keepRefusal(key, status: status, body: body) { kept in
            switch kept {
            case .kept: completion(.used)
            case .before(let receipt):
                completion(receipt.outcome == .refused(status: status, body: body) ? .before : .none)
            case .failed(let failure): completion(.failed(.rejected(.notCommitted(failure))))
            }
        }
    }

    /// The same for a request whose answer cannot wait. The number counts as used at once; should the server end before
    /// that is kept, the next number is answered with the one that is expected.
    public func useUpAtOnce(_ name: IntentRequest.Name, status: Int, body: [UInt8]) -> NumberUse {
        let (use, key) = take(name, status: status, body: body, isAnswered: true)
        if case .used = use, let key { keepRefusal(key, status: status, body: body) { _ in } }
        return use
    }

    private func take(
        _ name: IntentRequest.Name, status: Int, body: [UInt8], isAnswered: Bool
    ) -> (NumberUse, ReceiptKey?) {
        guard case .sequence(let number, let epoch) = name else { return (.none, nil) }
        let key = ReceiptKey.sequence(number, epoch: epoch)
        let outcome = StoredReceipt.Outcome.refused(status: status, body: body)
        let now = environment.time.monotonic()
        // The request's own body was not read.
        let hash = Array(SHA256.hash(data: [UInt8]()))
        return core.withLock { core in
            switch core.receipts.reserve(
                key, bodyHash: hash, intentID: .random(), now: now, limits: environment.limits)
            {
            case .reserved:
                if isAnswered { core.receipts.complete(key, outcome) }
                return (.used, key)
            case .done(let receipt): return (receipt.outcome == outcome ? .before : .none, nil)
            case .pending, .otherBody:
                let isUnderWay = core.receipts[key]?.outcome == nil
                return (isUnderWay ? .failed(.receiptPending) : .none, nil)
            case .full, .gap, .expired: return (.none, nil)
            }
        }
    }

    enum KeptRefusal {
        case kept
        /// The journal had a receipt of that name already: what it says counts.
        case before(ReceiptBook.Receipt)
        case failed(CommitFailure)
    }

    /// Keeps a refusal as a request's receipt, under the name that is reserved for it.
    func keepRefusal(
        _ key: ReceiptKey, status: Int, body: [UInt8], completion: @escaping @Sendable (KeptRefusal) -> Void
    ) {
        let outcome = StoredReceipt.Outcome.refused(status: status, body: body)
        let now = environment.time.sinceEpoch()
        let append = core.withLock { core -> JournalAppend? in
            guard !core.isEnded, let receipt = core.receipts[key] else { return nil }
            let stored = StoredReceipt(
                key: key, bodyHash: receipt.bodyHash, intent: receipt.intentID.text, outcome: outcome, made: now)
            return core.housekeeping(self, nil, [stored], now: now)
        }
        guard let append else { return completion(.failed(.storeIsGone)) }
        let finish: @Sendable (AppendResult) -> Void = { [self] in completion(keptRefusal(key, outcome, $0)) }
        if let result = environment.journal.append(append, done: finish) { finish(result) }
    }

    private func keptRefusal(
        _ key: ReceiptKey, _ outcome: StoredReceipt.Outcome, _ result: AppendResult
    ) -> KeptRefusal {
        switch result {
        case .committed:
            core.withLock { $0.receipts.complete(key, outcome) }
            return .kept
        case .duplicate(let receipt):
            let now = Moment(environment.time)
            let adopted = core.withLock { core in
                core.receipts.adopt(receipt, monotonic: now.monotonic)
                return core.receipts[key]
            }
            return adopted.map { .before($0) } ?? .failed(.refusalNotKept)
        case .failed(let failure):
            core.withLock { $0.receipts.release(key) }
            // Whoever deleted the session was not this object.
            if failure.code == .gone { end(.ended) }
            return .failed(CommitFailure(failure))
        // Repeated, an unknown one is found out by the journal: it has the receipt, or it has not.
        case .unknown, .conflict:
            core.withLock { $0.receipts.release(key) }
            return .failed(.refusalNotKept)
        }
    }
}

extension CommitFailure {
    fileprivate static let refusalNotKept = CommitFailure(.unavailable, "The refusal could not be kept.")
}
