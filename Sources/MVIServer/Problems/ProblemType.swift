/// A kind of refusal, as its page `/problems/<name>` explains it.
///
/// The names are part of the contract: a client switches over them, so one that is served is never given another
/// meaning.
struct ProblemType: Sendable {
    /// The last part of the problem's `type`: `[a-z][a-z0-9-]*`.
    let name: String
    /// The status of every answer of this type.
    let status: Int
    /// The same for every problem of the type (RFC 9457 section 3.1.3).
    let title: String
    /// What it means, for a reader of a client's log.
    let meaning: String
    /// What the client's author, or its user, can do.
    let remedy: String

    init(_ name: String, _ status: Int, _ title: String, meaning: String, remedy: String) {
        self.name = name
        self.status = status
        self.title = title
        self.meaning = meaning
        self.remedy = remedy
    }

    /// The problem's `type`, a relative reference: it holds on whatever address the server is reached.
    var reference: String { "/problems/\(name)" }
}

extension ProblemType: Hashable {
    static func == (left: ProblemType, right: ProblemType) -> Bool { left.name == right.name }

    func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension ProblemType {
    /// Every type, by status.
    static let all: [ProblemType] = [
        badRequest, invalidJSON, unauthorized, identityRejected, identityExpired, identityRequired, adminUnauthorized,
        crossSite, forbidden, adminClosed,
        notFound, featureNotFound, targetNotFound, adminSessionNotFound, sessionNotFound, sessionEnded,
        methodNotAllowed, notAcceptable,
        requestTimeout, intentInProgress, outOfSequence, receiptExpired, intentConflict, otherIdentity, otherSession,
        storeDisposed, preconditionFailed, bodyTooLarge, unsupportedMediaType, wrongHost,
        invalidIntent,
        idempotencyKeyReused, intentRefused, invalidBody,
        tooManyRequests, tooManyConnections, tooManyStores, tooManyReceipts,
        tooManyWaits, headTooLarge, intentFailed, stateUnavailable, endpointFailed,
        unknownTransferCoding, tooManySessions, tooManyStreams, busy, draining, notReady, checkTimeout,
        identityUnavailable, journalUnavailable, ownerUnreachable, newerState,
        storageFull, stateTooLarge,
    ]
}
