import MVI
import SessionJournal
import Sessions
import Testing
import WireJSON

extension TestStore {
    /// Sends an intent as a client does and runs everything that it causes until only time or other events are awaited.
    /// Fails the test if the intent is refused or throws; use `sendRejected` for such intents.
    ///
    /// ```swift
    /// await store.send(.increment) { $0.count = 1 }
    /// ```
    ///
    /// An intent with a check returns after the check. To open a gate or advance the time meanwhile, send it with
    /// `async let`.
    ///
    /// - Parameters:
    ///   - intent: the intent, which is sent as JSON.
    ///   - principal: the sender; nil for the test store's own principal.
    ///   - sourceLocation: the location that a failure is reported at.
    ///   - change: changes the state before the intent's own turn to the one after it, and receives all messages of
    ///     that turn. Without it, each message must be received.
    @discardableResult
    public func send(
        _ intent: F.Intent, as principal: Principal? = nil, sourceLocation: SourceLocation = #_sourceLocation,
        _ change: ((inout F.State) throws -> Void)? = nil
    ) async -> IntentOutcome? {
        await send(intent, by: client(principal), sourceLocation, change)
    }

    func send(
        _ intent: F.Intent, by client: SessionClient?, _ sourceLocation: SourceLocation,
        _ change: ((inout F.State) throws -> Void)?
    ) async -> IntentOutcome? {
        guard let (result, before) = await outcome(of: intent, by: client, sourceLocation) else { return nil }
        switch result {
        case .failure(let error):
            fail("The intent \(describe(intent)) was rejected: \(text(of: error)).", sourceLocation)
            return nil
        case .success(let outcome):
            checkPrediction(of: intent, outcome.id, before, sourceLocation)
            if let change { check(change, of: intent, outcome.id, before, sourceLocation) }
            return outcome
        }
    }

    /// Sends an intent that must be refused or throw, and returns the error. Fails the test if the intent is executed,
    /// or rejected differently.
    ///
    /// ```swift
    /// await store.sendRejected(.coupon("SPRING"), .invalid, code: "coupon-expired", pointers: ["/code"])
    /// ```
    ///
    /// - Parameters:
    ///   - intent: the intent, which is sent as JSON.
    ///   - kind: the kind of the `Refusal`; nil for any, and for a thrown error.
    ///   - code: the refusal's code; nil for any, and for none.
    ///   - pointers: the refused parts of the intent, as JSON Pointers; nil for any.
    ///   - principal: the sender; nil for the test store's own principal.
    ///   - sourceLocation: the location that a failure is reported at.
    @discardableResult
    public func sendRejected(
        _ intent: F.Intent, _ kind: Refusal.Kind? = nil, code: String? = nil, pointers: [String]? = nil,
        as principal: Principal? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> StoreError? {
        await sendRejected(intent, kind, code, pointers, by: client(principal), sourceLocation)
    }

    func sendRejected(
        _ intent: F.Intent, _ kind: Refusal.Kind?, _ code: String?, _ pointers: [String]?, by client: SessionClient?,
        _ sourceLocation: SourceLocation
    ) async -> StoreError? {
        guard let (result, _) = await outcome(of: intent, by: client, sourceLocation) else { return nil }
        switch result {
        case .success:
            fail("The intent \(describe(intent)) was to be rejected, but it was executed.", sourceLocation)
            return nil
        case .failure(let error):
            check(error, of: "The intent \(describe(intent))", kind, code, pointers, sourceLocation)
            return error
        }
    }

    private func check(
        _ error: StoreError, of what: String, _ kind: Refusal.Kind?, _ code: String?, _ pointers: [String]?,
        _ sourceLocation: SourceLocation
    ) {
        let (expected, actual) = rejections(error, kind, code, pointers)
        guard expected != actual else { return }
        fail(
            """
            \(what) was rejected differently than expected (- expected, + actual):
            \(difference(expected: expected, actual: actual))
            Error: \(text(of: error))
            """, sourceLocation)
    }

    /// Performs an action on the store as code outside the features does, such as a webhook's endpoint. Fails the test
    /// if the action is refused or throws.
    @discardableResult
    public func perform(
        _ action: F.Action, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> IntentOutcome? {
        switch await outcome(of: action, sourceLocation) {
        case nil: return nil
        case .success(let outcome)?: return outcome
        case .failure(let error)?:
            fail("The action \(describe(action)) was rejected: \(text(of: error)).", sourceLocation)
            return nil
        }
    }

    /// Performs an action from outside that must be refused or throw, and returns the error. Fails the test if the action is
    /// performed, or rejected differently. See ``sendRejected(_:_:code:pointers:as:sourceLocation:)-(_,_,_,_,Principal?,_)``.
    @discardableResult
    public func performRejected(
        _ action: F.Action, _ kind: Refusal.Kind? = nil, code: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> StoreError? {
        switch await outcome(of: action, sourceLocation) {
        case nil: return nil
        case .success?:
            fail("The action \(describe(action)) was to be rejected, but it was performed.", sourceLocation)
            return nil
        case .failure(let error)?:
            check(error, of: "The action \(describe(action))", kind, code, nil, sourceLocation)
            return error
        }
    }

    /// Returns the result of an action from outside; nil if it was not performed or not answered, which has failed the test.
    private func outcome(of action: F.Action, _ sourceLocation: SourceLocation) async -> Result<
        IntentOutcome, StoreError
    >? {
        guard let world else { return nil }
        await settle(sourceLocation)
        guard let result = await world.deliver(.action(action, of: F.self), to: id) else {
            failUnanswered("The action \(describe(action))", sourceLocation)
            return nil
        }
        await settle(sourceLocation)
        // The failure was reported as well. One failed test is enough.
        if case .failure(let error) = result, let failure = error.failure { inbox.takeFailures(of: failure.intentID) }
        return result
    }

    /// Signs in to the session as a client does. Each store's `signedIn` is called in its own turn, and the principal
    /// sends later intents by default. `turn.session` stays unchanged, as in a server.
    public func signIn(_ principal: Principal, sourceLocation: SourceLocation = #_sourceLocation) async {
        guard let world else { return }
        await settle(sourceLocation)
        condition.withLock { $0.principal = principal }
        if await world.signIn(principal) == nil { failUnanswered("The sign-in", sourceLocation) }
        await settle(sourceLocation)
    }

    func client(_ principal: Principal?) -> SessionClient { SessionClient(principal: principal ?? self.principal) }

    /// Returns the result of an intent, and the state before it; nil if it was not sent or not answered, which has
    /// failed the test.
    private func outcome(
        of intent: F.Intent, by client: SessionClient?, _ sourceLocation: SourceLocation
    ) async -> (Result<IntentOutcome, StoreError>, before: F.State)? {
        guard let world, let client else { return nil }
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
        guard let result = await world.send(body, to: id, by: client) else {
            failUnanswered(
                "The intent \(describe(intent))", sourceLocation,
                advice: " Send it with `async let`, and let its check finish or advance the time before you "
                    + "await it.")
            return nil
        }
        // The failure was reported as well. One failed test is enough.
        if case .failure(let error) = result, let failure = error.failure { inbox.takeFailures(of: failure.intentID) }
        await settle(sourceLocation)
        return (result, before)
    }

    func failUnanswered(_ what: String, _ sourceLocation: SourceLocation, advice: String = "") {
        fail("\(what) was not answered within \(timeout).\(whatMayBeMissing)\(advice)", sourceLocation)
    }

    /// Returns the reason of a rejection, without a full stop.
    func text(of error: StoreError) -> String {
        if let failure = error.failure { return describe(failure.error) }
        let detail = error.detail.hasSuffix(".") ? String(error.detail.dropLast()) : error.detail
        let issues = error.issues.map { " (\($0.pointer): \($0.detail))" }.joined()
        var advice = ""
        if error.code == .featureNotFound {
            advice = ". If the feature uses another store, add it: `others: [OtherStore(…)]`"
        }
        return "\(error.code), \(detail)\(issues)\(advice)"
    }

    /// Returns the expected and the actual rejection, as far as the test specifies it.
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

extension TestStore {
    /// Compares a client's prediction with the view state after the intent's own turn.
    private func checkPrediction(
        of intent: F.Intent, _ intentID: IntentID, _ before: F.State, _ sourceLocation: SourceLocation
    ) {
        guard let predict else { return }
        let messages = inbox.messages(of: intentID)
        var predicted = feature.view(messages.first?.before ?? before)
        do { try predict(&predicted, intent) } catch { return }
        let actual = feature.view(messages.last?.after ?? before)
        guard predicted != actual else { return }
        fail(
            """
            The prediction of \(describe(intent)) differs from the view state after its turn (- predicted, + actual):
            \(difference(expected: predicted, actual: actual))
            """, sourceLocation)
    }
}

extension StoreError {
    /// The kind of the refusal; nil for other errors.
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
