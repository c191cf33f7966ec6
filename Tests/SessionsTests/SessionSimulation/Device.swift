import Locking
import MVI
import SessionJournal
import Sessions

/// One client of a session: its intents, its answers, its streams and its access.
final class Device {
    struct Request: Sendable {
        let intent: ChoreIntent
        let feature: FeatureID
        let key: String?
        let wait: Duration?
        /// See `SessionLog.disposals`.
        let disposals: Int
        var isUnderWay = false
        /// True if an attempt may have run without a success as its answer.
        var isUncertain = false
    }

    /// Turns whose labels of the vault must not be shown: those after `from`, up to `to` if that is known.
    struct Exclusion {
        let from: UInt64
        var to: UInt64?
    }

    struct SignIn: Sendable {
        let principal: Principal
        let isGold: Bool
        let proof: [UInt8]
        let keepsStores: Bool
    }

    enum Standing {
        case anonymous
        case gold, free
        /// A change of the principal is in progress, or failed.
        case unknown
        /// Signed out, or the session has ended.
        case gone
    }

    let number: Int
    let log: SessionLog
    private(set) var token: SessionToken
    private(set) var standing: Standing
    /// A sign-in that is in progress or will be repeated.
    var signIn: SignIn?
    /// True while a request that changes the access to the session has no answer.
    var isChangingAccess = false
    /// True if it has begun to sign out.
    var isLeaving = false
    private(set) var requests: [Request] = []
    var streams: [DeviceStream] = []
    /// The cursor of each filter.
    var cursors: [String: String] = [:]
    private(set) var exclusions: [Exclusion] = []
    /// The number of changes of its access that have begun.
    private(set) var changeCount = 0
    private var labels: Set<LabelID> = []
    /// The session's head when the device was told that labels are lost.
    private var lossToldAt: UInt64 = 0
    private var lossIsOverflow = false
    /// The session's head when the device joined.
    private let joined: UInt64

    init(_ number: Int, _ token: SessionToken, _ standing: Standing, _ log: SessionLog) {
        (self.number, self.token, self.log) = (number, token, log)
        self.standing = standing
        joined = log.head
        note(standing)
    }

    var isGone: Bool { standing == .gone }

    /// True if it certainly has no access to the vault.
    var isExcluded: Bool { standing == .free || standing == .anonymous }

    // MARK: Access

    /// Starts a change of the principal.
    func changes() {
        isChangingAccess = true
        if standing == .free, exclusions.last?.to == nil, !exclusions.isEmpty {
            exclusions[exclusions.count - 1].to = log.head
        }
        standing = .unknown
        changeCount += 1
    }

    /// Records that the principal certainly has that tier.
    func note(_ standing: Standing, _ token: SessionToken? = nil) {
        guard !isGone || standing == .gone else { return }
        if let token { self.token = token }
        self.standing = standing
        if standing == .free { exclusions.append(Exclusion(from: log.head)) }
    }

    /// Ends the device after its sign-out or the end of its session.
    func leave() {
        standing = .gone
        requests.removeAll { !$0.isUnderWay }
    }

    // MARK: Intents

    func add(_ intent: ChoreIntent, to feature: FeatureID, key: String?, wait: Duration?) {
        requests.append(
            Request(intent: intent, feature: feature, key: key, wait: wait, disposals: log.disposals(of: feature)))
    }

    /// Returns the next request to send.
    func next() -> Request? {
        guard let index = requests.firstIndex(where: { !$0.isUnderWay }) else { return nil }
        requests[index].isUnderWay = true
        let request = requests[index]
        return request
    }

    /// Handles a broken connection.
    func disconnected() {
        isChangingAccess = false
        for index in requests.indices.reversed() {
            requests[index].isUncertain = requests[index].isUncertain || requests[index].isUnderWay
            requests[index].isUnderWay = false
            // A request without a name is not repeated.
            let isOver = isGone || requests[index].key == nil && requests[index].isUncertain
            if isOver { requests.remove(at: index) }
        }
        streams = []
    }

    func answered(_ number: Int, _ result: IntentResult) {
        guard let index = requests.firstIndex(where: { $0.intent.number == number }) else {
            return log.note("the intent \(number) was answered twice")
        }
        let request = requests[index]
        switch result {
        case .success:
            requests.remove(at: index)
            let runs = log.state.withLock { $0.intents[number]?.runs ?? 0 }
            if request.intent.isUndone { log.note("\(request.intent) succeeded") }
            if runs == 0, request.disposals >= 0, request.disposals == log.disposals(of: request.feature) {
                log.note("\(request.intent) succeeded and is not kept")
            }
        case .failure(let error):
            requests[index].isUnderWay = false
            if isGone {
                requests.remove(at: index)
                return
            }
            if error.isTransient || error.code == .receiptPending {
                requests[index].isUncertain = true
                if request.key == nil { requests.remove(at: index) }
                return
            }
            requests.remove(at: index)
            if !request.isUncertain { log.refused(number, "\(error.code)") }
            if !request.intent.mayFail, error.code.isUnexpected {
                log.note("\(request.intent) to \(request.feature) was refused: \(error.code), \(error.detail)")
            }
        }
    }

    // MARK: Labels

    func show(_ id: LabelID, of feature: FeatureID) {
        labels.insert(id)
        guard feature == ChoreBuild.vault else { return }
        if exclusions.contains(where: { $0.from < id.number && id.number <= $0.to ?? .max }) {
            log.note(
                "the label \(id) of \(feature) is shown to device \(number), which had no access", .labelOfExclusion)
        }
    }

    func reset(_ reason: String, labelsLost: Bool, isOfAll: Bool) {
        guard labelsLost else { return }
        if isOfAll { lossToldAt = log.head }
        guard reason == "overflow" else { return }
        let hasDropped = log.state.withLock { state in state.labels.contains(where: \.isDropped) }
        if !hasDropped { log.note("labels are lost, and the bound had dropped none that was owed", .expiredPushOut) }
    }

    /// Checks that every label has arrived that must.
    func checkLabels(now: Duration, of isServed: (FeatureID) -> Bool) {
        guard !isGone, standing != .unknown else { return }
        for label in log.state.withLock({ $0.labels }) {
            guard label.id.number > joined, label.expiry > now, !label.isDropped, label.id.number > lossToldAt,
                !labels.contains(label.id), isServed(label.feature)
            else { continue }
            // A device that lost its access at some time may get fewer labels.
            guard label.feature != ChoreBuild.vault || standing == .gold && exclusions.isEmpty && changeCount == 0
            else { continue }
            let hasExpired = log.state.withLock { state in state.labels.contains { $0.expiry <= now } }
            return log.note(
                "the label \(label.id) of \(label.feature) never came to device \(number)",
                hasExpired ? .expiredPushOut : nil)
        }
    }
}

extension StoreError {
    /// True if the same request may run later, or may have run.
    var isTransient: Bool {
        [.unavailable, .contended, .evicted, .closed, .newerState, .signingIn, .gone].contains(code)
    }
}

extension StoreError.Code {
    /// True if a client need not expect this answer.
    var isUnexpected: Bool {
        ![
            .full, .busy, .disposed, .forbidden, .gone, .signedOut, .receiptConflict, .tooManyReceipts, .failed,
            .checkTimeout, .featureNotFound,
        ].contains(self) && name != "ended" && name != "sessionEnded"
    }
}

extension ChoreIntent {
    /// True if it may be refused: the session may have too many reminders, or another store's turn may fail.
    var mayFail: Bool {
        switch self {
        case .remind: true
        case .act(_, let fate), .pass(_, let fate), .sent(_, let fate): fate.isUndone || fate == .reminds
        case .ask(_, let seconds): seconds >= 5
        case .relay, .look, .hush: false
        }
    }
}
