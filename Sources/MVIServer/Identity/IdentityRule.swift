import Logging
import MVI
import MicroHTTP
import Sessions

/// Who has to be signed in for a request, and how a client proves who it is.
struct IdentityRule: Sendable {
    let authenticator: (any Authenticator)?
    /// Whether anonymous sessions are refused.
    let isRequired: Bool
    let credentials: Credentials
    let addresses: ClientAddress
    let time: TimeSource
    /// What the patience with the authenticator is measured by.
    let clock: any Clock<Duration>
    let logger: Logger?

    /// How long an authenticator may take.
    private static let patience: Duration = .seconds(10)

    /// Refuses a caller whom a route cannot serve.
    func check(_ caller: Caller, _ incoming: Incoming, _ route: Route) throws(Problem) {
        if let damage = caller.damage, !route.takesDamaged { throw Problem(damage) }
        if route.takesExpired { return }
        try check(caller, incoming)
    }

    func check(_ caller: Caller, _ incoming: Incoming) throws(Problem) {
        if let credential = caller.credential {
            if credential.isRevoked { throw credentials.ended(caller.isByCookie) }
            // One that cannot be read has to be renewed.
            guard let principal = caller.principal, !principal.hasExpired(at: now) else { throw Self.expired }
        } else if isRequired {
            throw Self.required
        }
        if let name = authenticator?.subjectField { try checkSubject(name, caller, incoming) }
    }

    /// What a proxy says of who asks has to be what the session says.
    private func checkSubject(_ name: String, _ caller: Caller, _ incoming: Incoming) throws(Problem) {
        guard let subject = trustedField(name, incoming.head), subject != caller.principal?.subject else { return }
        throw Problem(
            .identityRejected, "The proxy says that the request is of another subject than the session's.")
    }

    private var now: Timestamp { Timestamp(sinceEpoch: time.sinceEpoch()) }

    static let expired = Problem(.identityExpired, "The identity that is signed in has expired; renew it.")
    static let required = Problem(.identityRequired, "This server has no anonymous sessions: sign in.")

    // MARK: Proofs

    /// Whether a request without an `identity` says who asks all the same, through a proxy.
    func isNamed(_ head: RequestHead) -> Bool {
        authenticator?.subjectField.flatMap { trustedField($0, head) } != nil
    }

    /// The value of a field that a trusted proxy set.
    private func trustedField(_ name: String, _ head: RequestHead) -> String? {
        guard addresses.isTrusted(head.peer) else { return nil }
        let values = head.fields.values(named: name)
        // Two of them: one may be the client's own.
        guard values.count == 1, let value = values.first, !value.isEmpty else { return nil }
        return value
    }

    /// Finds out who a client is. Also hands over what the proof is known by.
    func principal(_ identity: String?, _ head: RequestHead) async throws(Problem) -> (Principal, proof: [UInt8]) {
        guard let authenticator else {
            throw Problem(.badRequest, "This server has no authenticator: its sessions are anonymous.")
        }
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
                throw AuthenticationError(.unavailable, "The identity could not be checked in time; try again.")
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
    /// Refuses a principal that may not use a feature instance so.
    func checkAccess(to feature: FeatureID, _ principal: Principal?, _ access: Access) throws(Problem) {
        guard ruled.isEmpty || allows(principal, feature, access) else {
            throw Problem(
                .forbidden, principal == nil ? "Sign in to use this feature." : "You may not use this feature.")
        }
    }
}
