import Logging
import MVI
import MicroHTTP
import Sessions

/// Checks whether a request's client has to be signed in, and verifies identities.
struct IdentityRule: Sendable {
    let authenticator: (any Authenticator)?
    /// True if anonymous sessions are refused.
    let isRequired: Bool
    let credentials: CallerResolver
    let addresses: ClientAddress
    let time: TimeSource
    /// The clock for the authenticator's timeout.
    let clock: any Clock<Duration>
    let logger: Logger?

    /// The maximal time of an authenticator's call.
    private static let patience: Duration = .seconds(10)

    /// Refuses a caller that a route cannot serve.
    func check(_ caller: Caller, _ incoming: Incoming, _ route: Route) throws(Problem) {
        if let damage = caller.damage, !route.takesDamaged { throw Problem(damage) }
        if route.takesExpired { return }
        try check(caller, incoming)
    }

    func check(_ caller: Caller, _ incoming: Incoming) throws(Problem) {
        if let credential = caller.credential {
            if credential.isRevoked { throw credentials.ended() }
            // A principal that cannot be read has to be renewed.
            guard let principal = caller.principal, !principal.hasExpired(at: now),
                !caller.session.isUnused(credential)
            else { throw Self.expired }
        } else if isRequired {
            throw Self.required
        }
        if let name = authenticator?.subjectField { try checkSubject(name, caller, incoming) }
    }

    /// Refuses a request unless its `subjectField` names the session's subject.
    private func checkSubject(_ name: String, _ caller: Caller, _ incoming: Incoming) throws(Problem) {
        // The node that the client contacted has checked the field and does not forward it.
        guard incoming.sender != .node else { return }
        try checkSubject(caller.principal, incoming.head)
    }

    /// Refuses a request whose `subjectField` does not name the subject of a principal, byte for byte.
    ///
    /// - Parameters:
    ///   - principal: the principal of the request's session; nil for an anonymous one.
    ///   - mayBeMissing: true if the field may be missing even if it signed the principal in.
    func checkSubject(_ principal: Principal?, _ head: RequestHead, mayBeMissing: Bool = false) throws(Problem) {
        guard let authenticator, let name = authenticator.subjectField else { return }
        switch (try namedSubject(head), principal) {
        case (nil, nil): return
        case (nil, let principal?):
            guard !mayBeMissing, authenticator.needsSubjectField(principal) else { return }
            throw Problem(
                .identityRejected,
                "The field \"\(name)\" signed the session's subject in, and no trusted proxy set it.")
        case (let subject?, let principal):
            guard principal.map({ $0.subject.utf8.elementsEqual(subject.utf8) }) == true else {
                throw Problem(
                    .identityRejected, "The proxy names another subject than the session's.")
            }
        }
    }

    private var now: Timestamp { Timestamp(sinceEpoch: time.sinceEpoch()) }

    static let expired = Problem(.identityExpired, "The session's identity has expired; renew it.")
    static let required = Problem(.identityRequired, "This server has no anonymous sessions: sign in.")

    // MARK: Proofs

    /// The subject that a trusted proxy names in the `subjectField`; nil if the client has not signed in there.
    ///
    /// - Throws: a problem if the field is repeated, because one value may be the client's own, or if it is not UTF-8,
    ///   because different bytes must not become equal texts.
    func namedSubject(_ head: RequestHead) throws(Problem) -> String? {
        guard let name = authenticator?.subjectField, addresses.isTrusted(head.peer) else { return nil }
        let values = head.fields.bytes(named: name)
        guard let value = values.first else { return nil }
        guard values.count == 1 else {
            throw Problem(.identityRejected, "The proxy's field \"\(name)\" is repeated.")
        }
        guard let subject = String(validating: value, as: UTF8.self) else {
            throw Problem(.identityRejected, "The proxy's field \"\(name)\" is not UTF-8.")
        }
        return subject.isEmpty ? nil : subject
    }

    /// The value of a field that a trusted proxy set; nil if it is missing, empty, repeated or not UTF-8.
    private func trustedField(_ name: String, _ head: RequestHead) -> String? {
        guard addresses.isTrusted(head.peer) else { return nil }
        let values = head.fields.bytes(named: name)
        guard values.count == 1, let value = values.first, !value.isEmpty else { return nil }
        return String(validating: value, as: UTF8.self)
    }

    /// Returns true if the request's `subjectField` allows it to use a credential.
    func mayUse(_ credential: Credential, _ head: RequestHead) -> Bool {
        (try? checkSubject(credential.principal, head)) != nil
    }

    /// Returns true if a custom endpoint may read a field. It may read the `subjectField` only if a trusted proxy set
    /// it.
    func mayRead(_ name: String, _ head: RequestHead) -> Bool {
        name != authenticator?.subjectField || trustedField(name, head) != nil
    }

    /// Identifies a client. Also returns a value that identifies the proof.
    func principal(_ identity: String?, _ head: RequestHead) async throws(Problem) -> (Principal, proof: [UInt8]) {
        guard let authenticator else {
            throw Problem(.badRequest, "This server has no authenticator: its sessions are anonymous.")
        }
        _ = try namedSubject(head)
        let proof = IdentityProof(identity: identity) { trustedField($0, head) }
        let principal: Principal
        do {
            principal = try await answer(within: Self.patience) { try await authenticator.authenticate(proof) }
        } catch let error as AuthenticationError {
            throw Problem(error)
        } catch let problem as Problem {
            throw problem
        } catch {
            logger?.error("The authenticator failed", metadata: ["error": "\(error)"])
            throw Problem(AuthenticationError(.unavailable, "The identity cannot be checked now; try again."))
        }
        guard !principal.hasExpired(at: now) else { throw Self.expired }
        return (principal, ProofHash.of(identity ?? "\(principal.issuer)\n\(principal.subject)"))
    }

    private func answer(
        within patience: Duration, _ body: @escaping @Sendable () async throws -> Principal
    ) async throws -> Principal {
        try await withThrowingTaskGroup(of: Principal.self) { [clock] group in
            group.addTask(operation: body)
            group.addTask {
                try await clock.sleep(for: patience)
                throw AuthenticationError(.unavailable, "The check of the identity timed out; try again.")
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }
}

extension Problem {
    fileprivate init(_ error: AuthenticationError) {
        switch error.code {
        case .rejected: self.init(.identityRejected, error.detail)
        case .expired: self.init(.identityExpired, error.detail)
        case .unavailable: self.init(.identityUnavailable, error.detail, retryAfter: .seconds(5))
        }
    }
}

extension FeatureRegistry {
    /// Refuses a principal that does not have this access to a feature instance.
    func checkAccess(to feature: FeatureID, _ principal: Principal?, _ access: Access) throws(Problem) {
        guard ruled.isEmpty || allows(principal, feature, access) else {
            throw Problem(
                .forbidden, principal == nil ? "Sign in to use this feature." : "You may not use this feature.")
        }
    }
}
