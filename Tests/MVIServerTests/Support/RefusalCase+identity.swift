import MVI
import MVITesting
import Sessions
import Testing

@testable import MVIServer

extension RefusalCase {
    /// The refusals about identities.
    static let identity: [RefusalCase] = notSignedIn + ending + making + signingIn + updating

    /// All operations of a session except those that renew an identity or end the session.
    private static let ruled = ofSession.filter { !["signIn", "signOut", "endSession"].contains($0.operation) }

    private static let notSignedIn = ruled.flatMap { operation, method, target, fields, body in
        [
            RefusalCase(
                operation, .identityExpired, when: "the identity has expired", authenticator: WordAuthenticator(),
                ask: { server in
                    let session = try await server.session(of: "anna basic 600")
                    let request = session.request(method, target, fields, body: body)
                    server.time.advance(by: .seconds(600))
                    let refused = try await server.send(request)
                    // Nothing is lost.
                    #expect(try await server.signIn(session, "anna basic 1200").status == 200)
                    #expect(try await server.send(session.request("GET", "/sessions/current")).status == 200)
                    return refused
                }),
            RefusalCase(
                operation, .identityRequired, when: "sign-in is required",
                settings: { $0.requireIdentity = true }, authenticator: WordAuthenticator(),
                ask: { server in
                    try await server.send(
                        try await server.anonymousSession().request(method, target, fields, body: body))
                }),
            RefusalCase(
                operation, .identityRejected, when: "a trusted proxy names another subject", settings: trustsProxy,
                authenticator: WordAuthenticator(subjectField: "x-remote-user"),
                ask: { server in
                    let session = try await server.session(of: "anna")
                    return try await server.send(
                        session.request(method, target, fields + [("X-Remote-User", "bob")], body: body))
                }),
        ]
    }

    private static let ending = [("endSession", "/sessions/current"), ("signOut", "/sessions/current/identity")]
        .map {
            operation, target in
            RefusalCase(
                operation, .identityRejected, when: "a trusted proxy names another subject", settings: trustsProxy,
                authenticator: WordAuthenticator(subjectField: "x-remote-user"),
                ask: { server in
                    try await server.send(
                        try await server.session(of: "anna").request("DELETE", target, [("X-Remote-User", "bob")]))
                })
        }

    private static let trustsProxy: @Sendable (inout ServerSettings) -> Void = {
        $0.trustedProxies = [AddressRange("127.0.0.1")].compactMap { $0 }
    }

    private static let making: [RefusalCase] = [
        order(.badRequest, when: "the server has no authenticator", #"{"identity":"anna"}"#, nil),
        order(.badRequest, when: "shared has no identity", #"{"shared":true}"#),
        order(.badRequest, when: "the locale is no language tag", #"{"locale":"de_DE"}"#),
        order(.badRequest, when: "the time zone is malformed", #"{"timeZone":"/etc/passwd"}"#),
        order(.identityRejected, when: "the identity is rejected", #"{"identity":"bad"}"#),
        order(.identityRejected, when: "a claim cannot be stored", #"{"identity":"anna odd"}"#),
        order(.identityExpired, when: "the identity has expired", #"{"identity":"anna basic 0"}"#),
        order(.identityUnavailable, when: "the identity cannot be checked now", #"{"identity":"down"}"#),
        RefusalCase(
            "createSession", .identityUnavailable, when: "the authenticator does not answer",
            authenticator: WordAuthenticator(),
            ask: { server in
                async let answer = server.send(
                    TestRequest("POST", "/sessions", [json], body: #"{"identity":"silent"}"#))
                await server.clock.sleepers(atLeast: 1)
                server.clock.advance(by: .seconds(10))
                return try await answer
            }),
        RefusalCase(
            "createSession", .identityRequired, when: "sign-in is required",
            settings: { $0.requireIdentity = true }, authenticator: WordAuthenticator(),
            ask: { server in try await server.send(TestRequest("POST", "/sessions")) }),
    ]

    private static func order(
        _ type: ProblemType, when: String, _ body: String,
        _ authenticator: (any Authenticator)? = WordAuthenticator()
    ) -> RefusalCase {
        RefusalCase(
            "createSession", type, when: when, authenticator: authenticator,
            ask: { server in try await server.send(TestRequest("POST", "/sessions", [json], body: body)) })
    }

    private static let updating: [RefusalCase] = [
        update(.badRequest, when: "the locale is no language tag", #"{"locale":"de_DE"}"#),
        update(.badRequest, when: "the time zone is malformed", #"{"timeZone":"/etc/passwd"}"#),
        update(.badRequest, when: "the body is not an object", "[1]"),
        update(.invalidJSON, when: "the body is not JSON", "{"),
        update(.unsupportedMediaType, when: "the body is text", "{}", [("Content-Type", "text/plain")]),
        update(.bodyTooLarge, when: "the body is over 4 KiB", String(repeating: " ", count: 4_097)),
        RefusalCase(
            "updateSession", .tooManyRequests, when: "its session exceeds the rate", settings: { $0.intentRate = 1 }
        ) { server in
            let session = try await server.session()
            let request = session.request("PUT", "/sessions/current", [json], body: "{}")
            for _ in 0..<5 { _ = try await server.send(request) }
            return try await server.send(request)
        },
        update(.crossSite, when: "a page of another site asks", "{}", [json, ("Sec-Fetch-Site", "cross-site")]),
    ]

    private static func update(
        _ type: ProblemType, when: String, _ body: String, _ fields: [(name: String, value: String)] = [json]
    ) -> RefusalCase {
        RefusalCase("updateSession", type, when: when) { server in
            try await server.send(try await server.session().request("PUT", "/sessions/current", fields, body: body))
        }
    }

    private static let signingIn: [RefusalCase] = [
        signIn(.badRequest, when: "the server has no authenticator", #"{"identity":"anna"}"#, authenticator: nil),
        signIn(.badRequest, when: "the body is not an object", "[1]"),
        signIn(.invalidJSON, when: "the body is not JSON", "{"),
        signIn(.identityRejected, when: "there is no identity", "{}"),
        signIn(.identityRejected, when: "the identity is rejected", #"{"identity":"bad"}"#),
        signIn(.identityRejected, when: "a claim cannot be stored", #"{"identity":"anna odd"}"#),
        signIn(.identityExpired, when: "the identity has expired", #"{"identity":"anna basic 0"}"#),
        signIn(.identityUnavailable, when: "the identity cannot be checked now", #"{"identity":"down"}"#),
        signIn(.otherIdentity, when: "another subject is signed in", #"{"identity":"bob"}"#, of: "anna"),
        signIn(
            .crossSite, when: "a page of another site asks", #"{"identity":"anna"}"#,
            [json, ("Sec-Fetch-Site", "cross-site")]),
        signIn(
            .unsupportedMediaType, when: "the body is text", #"{"identity":"anna"}"#, [("Content-Type", "text/plain")]),
        signIn(.bodyTooLarge, when: "the body is over 32 KiB", String(repeating: " ", count: 32_769)),
        RefusalCase(
            "signIn", .tooManyRequests, when: "its address signs in too fast",
            settings: { $0.sessionRate = 1 }, authenticator: WordAuthenticator(),
            ask: { server in
                let session = try await server.session()
                for _ in 0..<29 { #expect(try await server.signIn(session, "bad").status == 401) }
                return try await server.signIn(session, "anna")
            }),
        RefusalCase(
            "signIn", .sessionEnded, when: "the credential was replaced at a sign-in",
            authenticator: WordAuthenticator(),
            ask: { server in
                let session = try await server.session()
                #expect(try await server.signIn(session, "anna").status == 200)
                return try await server.signIn(session, "anna premium")
            }),
        RefusalCase("signOut", .crossSite, when: "a page of another site asks") { server in
            try await server.send(
                try await server.session().request(
                    "DELETE", "/sessions/current/identity", [("Sec-Fetch-Site", "same-site")]))
        },
    ]

    private static func signIn(
        _ type: ProblemType, when: String, _ body: String, _ fields: [(name: String, value: String)] = [json],
        of identity: String? = nil, authenticator: (any Authenticator)? = WordAuthenticator()
    ) -> RefusalCase {
        RefusalCase(
            "signIn", type, when: when, authenticator: authenticator,
            ask: { server in
                let session: Credential
                if let identity {
                    session = try await server.session(of: identity)
                } else {
                    session = try await server.session()
                }
                return try await server.send(
                    session.request("PUT", "/sessions/current/identity", fields, body: body))
            })
    }
}
