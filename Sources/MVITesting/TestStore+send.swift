import MVI
import SessionJournal
import Testing
import WireJSON

extension TestStore {
    /// Sends an intent as a client does and lets everything run that it leads to, up to where that waits for time or for
    /// others. Fails the test if the intent is refused or throws; ``sendRejected(_:_:code:pointers:as:sourceLocation:)``
    /// is for those.
    ///
    /// ```swift
    /// await store.send(.increment) { $0.count = 1 }
    /// ```
    ///
    /// An intent whose check waits is answered when that is over. To open a gate or advance the time meanwhile, send it with
    /// `async let`.
    ///
    /// - Parameters:
    ///   - intent: what is sent, as JSON.
    ///   - principal: who sends it; nil for the test store's own principal.
    ///   - sourceLocation: where a failure is shown.
    ///   - change: makes the state after the intent's own turn from the one before, and receives all messages of that turn.
    ///     Without it each of them is to be received.
    @discardableResult
    public func send(
        _ intent: F.Intent, as principal: Principal? = nil, sourceLocation: SourceLocation = #_sourceLocation,
        _ change: ((inout F.State) throws -> Void)? = nil
    ) async -> IntentOutcome? {
        guard let (result, before) = await outcome(of: intent, as: principal, sourceLocation) else { return nil }
        switch result {
        case .failure(let error):
            fail("The intent \(describe(intent)) was rejected: \(text(of: error)).", sourceLocation)
            return nil
        case .success(let outcome):
            if let change { check(change, of: intent, outcome.id, before, sourceLocation) }
            return outcome
        }
    }

    /// Sends an intent that must be refused or throw, and returns why. Fails the test if it is executed, or rejected
    /// otherwise than the test says.
    ///
    /// ```swift
    /// await store.sendRejected(.coupon("SPRING"), .invalid, code: "coupon-expired", pointers: ["/code"])
    /// ```
    ///
    /// - Parameters:
    ///   - intent: what is sent, as JSON.
    ///   - kind: which kind of `Refusal` it is; nil for any, and for a throw.
    ///   - code: the refusal's code; nil for any, and for none.
    ///   - pointers: what of the intent it is about, as JSON Pointers; nil for anything.
    ///   - principal: who sends it; nil for the test store's own principal.
    ///   - sourceLocation: where a failure is shown.
    @discardableResult
    public func sendRejected(
        _ intent: F.Intent, _ kind: Refusal.Kind? = nil, code: String? = nil, pointers: [String]? = nil,
        as principal: Principal? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> StoreError? {
        guard let (result, _) = await outcome(of: intent, as: principal, sourceLocation) else { return nil }
        switch result {
        case .success:
            fail("The intent \(describe(intent)) was to be rejected, but it was executed.", sourceLocation)
            return nil
        case .failure(let error):
            let (expected, actual) = rejections(error, kind, code, pointers)
            if expected != actual {
                fail(
                    """
                    The intent \(describe(intent)) was rejected otherwise than expected (- expected, + actual):
                    \(difference(expected: expected, actual: actual))
                    It said: \(text(of: error))
                    """, sourceLocation)
            }
            return error
        }
    }

    /// Has the store perform an action as code outside the features does, such as a webhook's endpoint. Fails the test if it
    /// is refused or throws.
    @discardableResult
    public func perform(
        _ action: F.Action, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> IntentOutcome? {
        guard let world else { return nil }
        await settle(sourceLocation)
        guard let result = await world.deliver(.action(action, of: F.self), to: id) else {
            failUnanswered("The action \(describe(action))", sourceLocation)
            return nil
        }
        await settle(sourceLocation)
        switch result {
        case .success(let outcome): return outcome
        case .failure(let error):
            if let failure = error.failure { inbox.takeFailures(of: failure.intentID) }
            fail("The action \(describe(action)) was rejected: \(text(of: error)).", sourceLocation)
            return nil
        }
    }

    /// Somebody signs in to the session, as a client does: each store's `signedIn` is called, in a turn of its own, and
    /// intents that say no other sender are theirs from now on. What the features know of the session in `turn.session`
    /// stays as it was, as in a server.
    public func signIn(_ principal: Principal, sourceLocation: SourceLocation = #_sourceLocation) async {
        guard let world else { return }
        await settle(sourceLocation)
        condition.withLock { $0.principal = principal }
        if await world.signIn(principal) == nil { failUnanswered("The sign-in", sourceLocation) }
        await settle(sourceLocation)
    }

    /// Returns the outcome of an intent and the state before it; nil if it could not be sent or was not answered,
    /// which has failed the test.
    private func outcome(
        of intent: F.Intent, as principal: Principal?, _ sourceLocation: SourceLocation
    ) async -> (Result<IntentOutcome, StoreError>, before: F.State)? {
        guard let world else { return nil }
        await settle(sourceLocation)
        let body: [UInt8]
        do {
            body = try WireJSON.encode(intent)
        } catch {
            fail(
                "The intent \(describe(intent)) cannot be written as JSON, so no client can send it: \(error)",
                sourceLocation)
            return nil
        }
        let before = state
        guard let result = await world.send(body, to: id, as: principal ?? self.principal) else {
            failUnanswered(
                "The intent \(describe(intent))", sourceLocation,
                advice: " Send it with `async let`, and open what its check waits for or advance the time before you "
                    + "await it.")
            return nil
        }
        // It was reported as well; one failed test is enough.
        if case .failure(let error) = result, let failure = error.failure { inbox.takeFailures(of: failure.intentID) }
        await settle(sourceLocation)
        return (result, before)
    }

    func failUnanswered(_ what: String, _ sourceLocation: SourceLocation, advice: String = "") {
        fail("\(what) was not answered within \(timeout).\(whatMayBeMissing)\(advice)", sourceLocation)
    }

    /// Returns the reason of a rejection as a part of a sentence, without a full stop.
    func text(of error: StoreError) -> String {
        if let failure = error.failure { return describe(failure.error) }
        let detail = error.detail.hasSuffix(".") ? String(error.detail.dropLast()) : error.detail
        let issues = error.issues.map { " (\($0.pointer): \($0.detail))" }.joined()
        var advice = ""
        if error.code == .featureNotFound {
            advice = ". If the feature uses another store that the test has not, give it: `others: [OtherStore(…)]`"
        }
        return "\(error.code), \(detail)\(issues)\(advice)"
    }

    /// Returns the expected and the actual rejection, as far as the test states it.
    private func rejections(
        _ error: StoreError, _ kind: Refusal.Kind?, _ code: String?, _ pointers: [String]?
    ) -> (expected: String, actual: String) {
        var expected: [String] = []
        var actual: [String] = []
        if let kind {
            expected.append("kind: \(describe(kind))")
            actual.append("kind: " + (error.refusalKind.map { describe($0) } ?? "none, it is \(error.code)"))
        }
        if let code {
            expected.append("code: \(describe(code))")
            actual.append("code: " + (error.refusalCode.map { describe($0) } ?? "none"))
        }
        if let pointers {
            expected.append("pointers: \(describe(pointers))")
            actual.append("pointers: \(describe(error.issues.map(\.pointer)))")
        }
        return (expected.joined(separator: "\n"), actual.joined(separator: "\n"))
    }

    private func check(
        _ change: @escaping (inout F.State) throws -> Void, of intent: F.Intent, _ intentID: IntentID,
        _ before: F.State, _ sourceLocation: SourceLocation
    ) {
        let messages = inbox.takeMessages(of: intentID)
        if let first = messages.first, let last = messages.last {
            return check(change, describe(intent), first.before, last.after, sourceLocation)
        }
        var state = before
        do {
            try change(&state)
        } catch {
            Issue.record(error, sourceLocation: sourceLocation)
            return
        }
        guard state != before else { return warnOfNothing(describe(intent), sourceLocation) }
        fail(
            """
            The turn of \(describe(intent)) had no message, so it changed nothing (- expected, + actual):
            \(difference(expected: state, actual: before))
            """, sourceLocation)
    }
}

extension StoreError {
    /// The kind of the refusal; nil if it is none.
    fileprivate var refusalKind: Refusal.Kind? {
        switch code {
        case .forbidden: .forbidden
        case .notFound: .notFound
        case .conflict: .conflict
        case .refused: .invalid
        case .tooMany: .tooMany(retryAfter: retryAfter ?? .zero)
        default: nil
        }
    }
}
