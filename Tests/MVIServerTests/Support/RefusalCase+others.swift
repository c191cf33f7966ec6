import Networks
import Sessions
import MicroHTTP
import Testing

@testable import MVIServer

extension RefusalCase {
    /// The refusals of any request of a session: its credential.
    static let credentials: [RefusalCase] = [
        ("describeSession", "GET", "/sessions/current"), ("endSession", "DELETE", "/sessions/current"),
        ("updateSession", "PUT", "/sessions/current"),
        ("signIn", "PUT", "/sessions/current/identity"), ("signOut", "DELETE", "/sessions/current/identity"),
        ("readState", "GET", "/features/probe/state"), ("disposeStore", "DELETE", "/features/probe/state"),
        ("streamFeature", "GET", "/features/probe/events"), ("streamSession", "GET", "/events"),
    ].flatMap { operation, method, target in
        [
            RefusalCase(operation, .unauthorized, when: "there is no credential") { server in
                try await server.send(TestRequest(method, target))
            },
            RefusalCase(operation, .unauthorized, when: "the token is malformed") { server in
                try await server.send(TestRequest(method, target, [("Authorization", "Bearer short")]))
            },
            RefusalCase(operation, .unauthorized, when: "the bearer token is malformed and the cookie valid") {
                server in
                let session = try await server.cookieSession()
                return try await server.send(session.request(method, target, [("Authorization", "Bearer ä")]))
            },
            RefusalCase(operation, .sessionNotFound, when: "the token is unknown and the cookie valid") {
                server in
                let session = try await server.cookieSession()
                return try await server.send(session.request(method, target, [("Authorization", unknownToken)]))
            },
            RefusalCase(
                operation, .tooManyRequests, when: "the address sent too many unknown tokens",
                settings: { $0.sessionRate = 1 }
            ) { server in
                let request = TestRequest(method, target, [("Authorization", unknownToken), ("Prefer", "problem")])
                for _ in 0..<30 { _ = try await server.send(request) }
                return try await server.send(request)
            },
        ]
    }

    /// Requests whose `MVI-Session` names another session.
    static let otherSession: [RefusalCase] = ofSession.map { operation, method, target, fields, body in
        RefusalCase(operation, .otherSession, when: "MVI-Session names another session") { server in
            let other = try await server.session()
            return try await server.send(
                try await server.session().request(method, target, fields + [("MVI-Session", other.id)], body: body))
        }
    }

    /// Requests of deleted sessions. Streams get 204, which is not a refusal.
    static let ended: [RefusalCase] = [
        ("describeSession", "GET", "/sessions/current"), ("endSession", "DELETE", "/sessions/current"),
        ("updateSession", "PUT", "/sessions/current"),
        ("signIn", "PUT", "/sessions/current/identity"), ("signOut", "DELETE", "/sessions/current/identity"),
        ("readState", "GET", "/features/probe/state"), ("disposeStore", "DELETE", "/features/probe/state"),
    ].map { operation, method, target in
        RefusalCase(operation, .sessionEnded, when: "the session was deleted") { server in
            let session = try await server.cookieSession()
            _ = try await server.send(session.request("DELETE", "/sessions/current"))
            return try await server.send(session.request(method, target))
        }
    }

    static let crossSite: [RefusalCase] = [
        RefusalCase("createSession", .crossSite, when: "a page of another site asks") { server in
            try await server.send(TestRequest("POST", "/sessions", [("Sec-Fetch-Site", "cross-site")]))
        },
        RefusalCase("endSession", .crossSite, when: "a page of another site asks") { server in
            try await server.send(
                try await server.session().request("DELETE", "/sessions/current", [("Sec-Fetch-Site", "same-site")]))
        },
        RefusalCase("disposeStore", .crossSite, when: "a page of another site asks") { server in
            try await server.send(
                try await server.session().request("DELETE", "/features/probe/state", [("Origin", "null")]))
        },
        RefusalCase("readState", .crossSite, when: "a page of another site asks with the cookie") { server in
            try await server.send(
                try await server.cookieSession().request(
                    "GET", "/features/probe/state", [("Sec-Fetch-Site", "cross-site")]))
        },
        RefusalCase("describeSession", .crossSite, when: "a page of another site asks with the cookie") { server in
            try await server.send(
                try await server.cookieSession().request(
                    "GET", "/sessions/current", [("Sec-Fetch-Site", "same-site")]))
        },
        RefusalCase("streamFeature", .crossSite, when: "a page of another site asks with the cookie") { server in
            try await server.send(
                try await server.cookieSession().request(
                    "GET", "/features/probe/events", [("Origin", "http://evil.example")]))
        },
        RefusalCase("streamSession", .crossSite, when: "a browser navigates to it with the cookie") { server in
            try await server.send(
                try await server.cookieSession().request(
                    "GET", "/events", [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Mode", "navigate")]))
        },
    ]

    static let sessions: [RefusalCase] = [
        RefusalCase("createSession", .invalidJSON, when: "the body is not JSON") { server in
            try await server.send(TestRequest("POST", "/sessions", [json], body: "{"))
        },
        RefusalCase("createSession", .badRequest, when: "the body is not an object") { server in
            try await server.send(TestRequest("POST", "/sessions", [json], body: "[1]"))
        },
        RefusalCase("createSession", .badRequest, when: "the credential is unknown") { server in
            try await server.send(TestRequest("POST", "/sessions", [json], body: #"{"credential":"jwt"}"#))
        },
        RefusalCase(
            "createSession", .bodyTooLarge, when: "the body is over the limit", settings: { $0.bodyLimit = 1_024 },
            ask: { server in
                try await server.send(
                    TestRequest("POST", "/sessions", [json], body: String(repeating: " ", count: 2_000)))
            }),
        RefusalCase("createSession", .bodyTooLarge, when: "the body is over 4 KiB") { server in
            try await server.send(TestRequest("POST", "/sessions", [json], body: String(repeating: " ", count: 4_097)))
        },
        RefusalCase("listFeatures", .bodyTooLarge, when: "it has a body") { server in
            try await server.send(TestRequest("GET", "/features", [json], body: "{}"))
        },
        RefusalCase("createSession", .unsupportedMediaType, when: "the body is text") { server in
            try await server.send(TestRequest("POST", "/sessions", [("Content-Type", "text/plain")], body: "{}"))
        },
        RefusalCase(
            "createSession", .tooManySessions, when: "all places are in use",
            settings: { $0.maxSessions = 1 },
            ask: { server in
                try server.holdStream(of: try await server.session())
                return try await server.send(TestRequest("POST", "/sessions"))
            }),
        RefusalCase(
            "createSession", .tooManyRequests, when: "its address makes sessions too fast",
            settings: { $0.sessionRate = 1 },
            ask: { server in
                for _ in 0..<30 { _ = try await server.session() }
                return try await server.send(TestRequest("POST", "/sessions"))
            }),
        RefusalCase("createSession", .draining, when: "the server is stopping") { server in
            server.sessions.drain()
            return try await server.send(TestRequest("POST", "/sessions"))
        },
    ]

    static let states: [RefusalCase] = [
        RefusalCase("readState", .featureNotFound, when: "the key is refused") { server in
            try await server.send(try await server.session().request("GET", "/features/item:11/state"))
        },
        RefusalCase("readState", .stateUnavailable, when: "the state cannot be JSON") { server in
            try await server.send(try await server.session().request("GET", "/features/item:broken/state"))
        },
        RefusalCase(
            "readState", .tooManyStores, when: "the session has too many stores",
            settings: { $0.maxStoresPerSession = 1 },
            ask: { server in
                let session = try await server.session()
                _ = try await server.send(session.request("GET", "/features/item:1/state"))
                return try await server.send(session.request("GET", "/features/probe/state"))
            }),
        RefusalCase(
            "readState", .tooManyWaits, when: "too many requests wait", settings: { $0.maxWaitsPerSession = 1 },
            ask: { server in
                let session = try await server.session()
                let tag = try #require(try await server.send(session.request("GET", "/features/probe/state"))["etag"])
                let wait = session.request(
                    "GET", "/features/probe/state", [("If-None-Match", tag), ("Prefer", "wait=5")])
                let first = Task { try await server.send(wait) }
                await server.clock.sleepers(atLeast: 1)
                let second = try await server.send(wait)
                server.clock.advance(by: .seconds(5))
                #expect(try await first.value.status == 304)
                return second
            }),
        RefusalCase(
            "disposeStore", .tooManyRequests, when: "its session exceeds the rate",
            settings: { $0.intentRate = 1 },
            ask: { server in
                let session = try await server.session()
                for _ in 0..<5 { _ = try await server.send(session.request("DELETE", "/features/probe/state")) }
                return try await server.send(session.request("DELETE", "/features/probe/state"))
            }),
        RefusalCase("disposeStore", .featureNotFound, when: "the feature is unknown") { server in
            try await server.send(try await server.session().request("DELETE", "/features/nobody/state"))
        },
    ]

    static let streams: [RefusalCase] =
        [
            RefusalCase("streamFeature", .featureNotFound, when: "the feature is unknown") { server in
                try await server.send(try await server.session().request("GET", "/features/nobody/events"))
            },
            RefusalCase("streamSession", .featureNotFound, when: "one of the features is unknown") { server in
                try await server.send(try await server.session().request("GET", "/events?feature=probe&feature=nobody"))
            },
            RefusalCase("streamSession", .featureNotFound, when: "a feature has an encoded line feed") { server in
                try await server.send(try await server.session().request("GET", "/events?feature=probe%0Aid:1"))
            },
            RefusalCase("streamFeature", .badRequest, when: "the form of deltas is unknown") { server in
                try await server.send(try await server.session().request("GET", "/features/probe/events?delta="))
            },
            RefusalCase("streamSession", .badRequest, when: "the form of deltas is unknown") { server in
                try await server.send(try await server.session().request("GET", "/events?delta=xml"))
            },
            RefusalCase("streamSession", .featureNotFound, when: "a feature is empty") { server in
                try await server.send(try await server.session().request("GET", "/events?feature="))
            },
            RefusalCase(
                "streamSession", .tooManyStores, when: "it names too many", settings: { $0.maxLoadedStores = 1 },
                ask: { server in
                    try await server.send(
                        try await server.session().request("GET", "/events?feature=item:1&feature=item:2"))
                }),
            RefusalCase("streamFeature", .stateUnavailable, when: "the state cannot be JSON") { server in
                try await server.send(try await server.session().request("GET", "/features/item:broken/events"))
            },
            RefusalCase("streamSession", .stateUnavailable, when: "one of the states cannot be JSON") { server in
                try await server.send(
                    try await server.session().request("GET", "/events?feature=probe&feature=item:broken"))
            },
        ] + transient("streamFeature", "/features/probe/events") + transient("streamSession", "/events?feature=probe")

    private static func transient(_ operation: String, _ target: String) -> [RefusalCase] {
        [
            RefusalCase(operation, .notAcceptable, when: "Accept excludes event streams") { server in
                try await server.send(
                    try await server.session().request("GET", target, [("Accept", "application/json, text/*;q=0")]))
            },
            RefusalCase(
                operation, .tooManyStreams, when: "there are too many, and the client wants the problem",
                settings: { $0.maxStreams = 1 },
                ask: { server in
                    try server.holdStream(of: try await server.session())
                    return try await server.send(
                        try await server.session().request("GET", target, [("Prefer", "problem")]))
                }),
            RefusalCase(
                operation, .tooManyConnections, when: "its address has too many, and the client wants the problem",
                settings: { $0.maxStreamsPerAddress = 1 },
                ask: { server in
                    let session = try await server.session()
                    return try await server.holdingStream(of: session) {
                        try await server.send(session.request("GET", target, [("Prefer", "problem")]))
                    }
                }),
            RefusalCase(operation, .draining, when: "the server is stopping, and the client wants the problem") {
                server in
                let session = try await server.session()
                server.sessions.drain()
                return try await server.send(session.request("GET", target, [("Prefer", "problem")]))
            },
        ]
    }

    static let others: [RefusalCase] = [
        RefusalCase("describeFeature", .featureNotFound, when: "the feature is unknown") { server in
            try await server.send(TestRequest("GET", "/features/nobody"))
        },
        RefusalCase("describeFeature", .featureNotFound, when: "a key is given") { server in
            try await server.send(TestRequest("GET", "/features/item:1"))
        },
        RefusalCase("explainProblem", .notFound, when: "the type is unknown") { server in
            try await server.send(TestRequest("GET", "/problems/none"))
        },
        RefusalCase("reportReadiness", .draining, when: "the server is stopping") { server in
            server.sessions.drain()
            return try await server.send(TestRequest("GET", "/health/ready"))
        },
        RefusalCase("reportReadiness", .notReady, when: "the journal cannot be written") { server in
            server.journal.fail(.unavailable)
            return try await server.send(TestRequest("GET", "/health/ready"))
        },
    ]
}

extension TestServer {
    /// Takes the stream places of all clients of these tests.
    func holdingStream<Result>(
        of session: Credential, _ body: () async throws -> Result
    ) async throws -> Result {
        let address = try #require(PeerAddress("127.0.0.1"))
        let place = try assembly.application.quotas.takeStream(RequestHead(method: "GET", path: [], peer: address))
        defer { withExtendedLifetime(place) {} }
        return try await body()
    }

    /// Takes the place of a stream.
    func holdStream(of session: Credential) throws {
        try live(session).openStream(.all, from: .now) { _ in }
    }
}
