import Locking
import MVI
import SessionJournal
import WireJSON

/// One request with an intent on its way through its session.
final class IntentJob: QueueJob {
    let session: Session
    let request: IntentRequest
    let feature: FeatureID
    let intentID: IntentID
    let receipt: ReceiptName?
    /// The intent, as the store that was in memory read it from the body.
    private let decoded: (store: SessionStore, run: RunTurn)?
    private let record: (@Sendable (StoreError) -> RecordedRefusal?)?
    private let completion: @Sendable (IntentResult) -> Void
    /// The intent as interceptors left it: they judge it once, however often it has to run.
    private let judged: RunTurn?
    /// Whether it ran on a store that the journal had, and lost against another writer.
    private let hasLost: Bool

    init(
        _ session: Session, _ request: IntentRequest, _ feature: FeatureID, _ intentID: IntentID,
        receipt: ReceiptName?, decoded: (store: SessionStore, run: RunTurn)?,
        record: (@Sendable (StoreError) -> RecordedRefusal?)?,
        completion: @escaping @Sendable (IntentResult) -> Void, judged: RunTurn? = nil, hasLost: Bool = false
    ) {
        self.session = session
        self.request = request
        self.feature = feature
        self.intentID = intentID
        self.receipt = receipt
        self.record = record
        self.completion = completion
        self.decoded = decoded
        self.judged = judged
        self.hasLost = hasLost
    }

    func again(after result: JobResult) -> any QueueJob {
        IntentJob(
            session, request, feature, intentID, receipt: receipt, decoded: decoded, record: record,
            completion: completion, judged: result.turn?.judged ?? judged, hasLost: hasLost || result.isOfKeptStore)
    }

    var lane: JobLane { .intents }
    var isRetried: Bool { false }

    private var hasNumber: Bool { if case .sequence? = request.name { true } else { false } }

    // MARK: Its turn

    func run() -> Bool {
        let (limits, feature) = (session.shared.limits, feature)
        let (judgement, found) = session.core.withLock { core in
            (receipt.map { core.judge($0) } ?? .next, core.findForTurn(feature, limits: limits))
        }
        switch judgement {
        case .next: break
        case .done: return refuse(nil)
        case .refused(let error): return refuse(error)
        }
        do throws(StoreError) {
            switch found {
            case .started(let store, let version, let effects): try run(on: store, version: version, after: effects)
            case .store(let store, let version): try run(on: store, version: version, after: nil)
            case .passive(let failure):
                if let failure { throw failure }
                return false
            case .absent(_, let wasDisposed):
                // Another node disposed of the store that the intent ran on.
                if !wasDisposed, hasLost { throw .storeDisposed }
                // A body that is no intent makes no store.
                if let fault = session.shared.features.definition(for: feature)?.intentFault(request.body) {
                    try check(fault, version: session.version(of: feature))
                }
                try checkVersion(session.core.withLock { $0.lastNumber } + 1)
                guard let store = try session.find(feature) else { return false }
                try run(on: store, version: nil, after: nil)
            }
        } catch {
            return refuse(error)
        }
        return true
    }

    private func run(on store: SessionStore, version: UInt64?, after effects: [Effect]?) throws(StoreError) {
        if let judged { return session.run(self, judged, on: store, after: effects) }
        if let decoded, decoded.store === store {
            if let version { try checkVersion(version) }
            return session.run(self, decoded.run, on: store, after: effects)
        }
        switch store.erased.decode(request.body) {
        case .intent(let run):
            if let version { try checkVersion(version) }
            session.run(self, run, on: store, after: effects)
        case .fault(let fault): try check(fault, version: version)
        }
    }

    private func checkVersion(_ version: UInt64) throws(StoreError) {
        if let ifMatch = request.ifMatch, !ifMatch(version) { throw .preconditionFailed }
    }

    /// Order of checks: what the client believes of the state comes before what it asks for.
    private func check(_ fault: WireDecodingError, version: UInt64?) throws(StoreError) {
        if case .mismatch = fault, let version { try checkVersion(version) }
        throw StoreError(fault)
    }

    /// The answer that is kept if the error uses the request's number up.
    func recorded(_ error: StoreError) -> RecordedRefusal? { hasNumber ? record?(error) : nil }

    /// Leads to nothing but the error, or the receipt that there is.
    private func refuse(_ error: StoreError?) -> Bool {
        let refusal = error.flatMap { recorded($0) }
        let now = session.shared.time.sinceEpoch()
        session.core.withLock { core in
            if let refusal, let receipt {
                core.joinRefusal(self, error, refusal, receipt, intentID, now: now)
            } else {
                core.joinOther(self, error, isKept: false)
            }
        }
        return true
    }

    func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool { session.awaitLoads([feature], resume) }

    // MARK: Its end

    func finished(_ result: JobResult, isSettled: Bool) {
        if let error = result.error ?? result.turn?.trouble?.error { return end(error) }
        guard let turn = result.turn, turn.trouble == nil else {
            release()
            let found = receipt.flatMap { receipt in session.core.withLock { $0.receipts[receipt.key] } }
            if let found { return session.replay(found, request, feature, completion) }
            // The store was gone when its turn came.
            return completion(.failure(.storeDisposed))
        }
        var outcome = IntentOutcome(id: intentID, version: result.state.version, isSettled: isSettled)
        if request.wantsState { outcome.state = result.state }
        guard let wait = request.wait, let host = result.host else { return completion(.success(outcome)) }
        session.settle(outcome, wait, feature, host.scope, completion)
    }

    func end(_ error: StoreError) {
        release()
        completion(.failure(error))
    }

    private func release() {
        if let receipt { session.core.withLock { $0.receipts.release(receipt.key) } }
    }
}

/// Uses up the number of a request that was refused before it could be decoded.
final class NumberJob: QueueJob {
    private let session: Session
    private let receipt: ReceiptName
    private let refusal: RecordedRefusal
    private let completion: @Sendable (Result<Bool, StoreError>) -> Void

    init(
        _ session: Session, _ receipt: ReceiptName, _ refusal: RecordedRefusal,
        _ completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void
    ) {
        self.session = session
        self.receipt = receipt
        self.refusal = refusal
        self.completion = completion
    }

    var lane: JobLane { .intents }
    var isRetried: Bool { false }

    func run() -> Bool {
        let now = session.shared.time.sinceEpoch()
        session.core.withLock { core in
            switch core.judge(receipt) {
            case .next: core.joinRefusal(self, nil, refusal, receipt, .random(), now: now)
            // It ran before, or it is not the number's turn: nothing is kept.
            case .done, .refused: core.joinOther(self, isKept: false)
            }
        }
        return true
    }

    func finished(_ result: JobResult, isSettled: Bool) {
        let outcome = session.core.withLock { core in
            core.receipts.release(receipt.key)
            return core.receipts[receipt.key]?.outcome
        }
        let isSame = outcome == .refused(status: refusal.status, body: refusal.body)
        completion(.success(isSame && !result.isKept))
    }

    func end(_ error: StoreError) {
        session.core.withLock { $0.receipts.release(receipt.key) }
        completion(.failure(error))
    }
}

extension StoreError {
    fileprivate static let preconditionFailed = StoreError(
        .preconditionFailed, "The state has none of the versions that were asked for.")
}
