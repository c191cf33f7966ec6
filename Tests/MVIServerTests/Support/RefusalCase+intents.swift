import MVI
import SessionJournal
import Sessions
import Testing

@testable import MVIServer

extension RefusalCase {
    /// The refusals of intents, in the order of checks.
    static let intents: [RefusalCase] =
        request + receipts + [
            intent(.invalidIntent, when: "the type is unknown", #"{"type":"explode"}"#),
            intent(.invalidIntent, when: "there is no type", #"{"amount":5}"#),
            intent(.invalidIntent, when: "the body is an array", "[]"),
            intent(.invalidIntent, when: "a member is missing", #"{"type":"add"}"#),
            intent(.invalidIntent, when: "a member is mistyped", #"{"type":"add","amount":"five"}"#),
            intent(.invalidIntent, when: "a number is not an integer", #"{"type":"add","amount":1.5}"#),
            intent(.invalidIntent, when: "a number is too large", #"{"type":"add","amount":1e30}"#),
            intent(.forbidden, when: "an interceptor forbids it", #"{"type":"secret"}"#),
            intent(.intentRefused, when: "an interceptor refuses it as invalid", #"{"type":"nonsense"}"#),
            intent(.intentLimited, when: "an interceptor limits the rate", #"{"type":"hurry"}"#),
            RefusalCase(
                "sendIntent", .tooManyRequests, when: "its session exceeds the rate",
                settings: { $0.intentRate = 1 },
                ask: { server in
                    let session = try await server.session()
                    for _ in 0..<5 { _ = try await server.send(session.intent(#"{"type":"increment"}"#)) }
                    return try await server.send(session.intent(#"{"type":"increment"}"#))
                }),
            intent(.intentFailed, when: "its handler throws", #"{"type":"fail"}"#),
            intent(.stateUnavailable, when: "the state cannot be JSON", #"{"type":"poison"}"#),
            RefusalCase(
                "sendIntent", .stateTooLarge, when: "the state grows too large",
                settings: { $0.maxStateBytes = 1_024 },
                ask: { server in
                    try await server.send(try await server.session().intent(#"{"type":"grow","bytes":2000}"#))
                }),
            RefusalCase(
                "sendIntent", .tooManyStores, when: "the session has too many stores",
                settings: { $0.maxStoresPerSession = 1 },
                ask: { server in
                    let session = try await server.session()
                    _ = try await server.send(session.intent(#"{"type":"increment"}"#))
                    return try await server.send(session.intent(#"{"type":"weigh","weight":1}"#, to: "item:1"))
                }),
            failingJournal(.journalUnavailable, .unavailable),
            failingJournal(.storageFull, .full),
            RefusalCase("sendIntent", .storeDisposed, when: "another server disposes of the store meanwhile") {
                server in
                let session = try await server.session()
                return try await server.duringHeldCommit(of: session) { held in
                    server.journal.disposeElsewhere("probe", of: try server.live(session).id)
                    server.journal.release()
                    return try await held.value
                }
            },
            RefusalCase(
                "sendIntent", .busy, when: "too many intents wait", settings: { $0.maxQueuedIntents = 1 },
                ask: { server in
                    let session = try await server.session()
                    return try await server.duringHeldCommit(of: session) { _ in
                        try server.queueIntent(of: session)
                        return try await server.send(session.intent(#"{"type":"increment"}"#))
                    }
                }),
        ]

    private static let request: [RefusalCase] = [
        RefusalCase("sendIntent", .unauthorized, when: "there is no credential") { server in
            try await server.send(
                TestRequest("POST", "/features/probe/intents", [json], body: #"{"type":"increment"}"#))
        },
        RefusalCase("sendIntent", .sessionNotFound, when: "the token is unknown") { server in
            try await server.send(
                TestRequest(
                    "POST", "/features/probe/intents", [json, ("Authorization", unknownToken)],
                    body: #"{"type":"increment"}"#))
        },
        RefusalCase("sendIntent", .sessionEnded, when: "the session was deleted") { server in
            let session = try await server.session()
            _ = try await server.send(session.request("DELETE", "/sessions/current"))
            return try await server.send(session.intent(#"{"type":"increment"}"#))
        },
        intent(
            .crossSite, when: "another site's page asks", #"{"type":"increment"}"#,
            [("Origin", "https://evil.example")]),
        intent(.featureNotFound, when: "the feature is unknown", #"{"type":"increment"}"#, to: "prob"),
        intent(.featureNotFound, when: "a key is given to a feature without", #"{"type":"increment"}"#, to: "probe:1"),
        intent(.featureNotFound, when: "the key is missing", #"{"type":"weigh","weight":1}"#, to: "item"),
        intent(.featureNotFound, when: "the key is refused", #"{"type":"weigh","weight":1}"#, to: "item:11"),
        intent(.featureNotFound, when: "making the instance throws", #"{"type":"weigh","weight":1}"#, to: "item:x"),
        intent(.featureNotFound, when: "the id has a capital", "{}", to: "Probe"),
        intent(.featureNotFound, when: "the id has an encoded slash", "{}", to: "probe%2Fx"),
        intent(.featureNotFound, when: "the id has an encoded NUL", "{}", to: "probe%00"),
        intent(.featureNotFound, when: "the id has an encoded line feed", "{}", to: "item:1%0A"),
        intent(.featureNotFound, when: "the id has an encoded carriage return", "{}", to: "item:1%0D"),
        intent(.featureNotFound, when: "the id's encoding is broken", "{}", to: "probe%zz"),
        intent(.featureNotFound, when: "the key is too long", "{}", to: "item:" + String(repeating: "1", count: 65)),
        RefusalCase(
            "sendIntent", .bodyTooLarge, when: "the body is over the limit", settings: { $0.bodyLimit = 1_024 },
            ask: { server in
                let body = #"{"type":"say","text":"\#(String(repeating: "x", count: 2_000))"}"#
                return try await server.send(try await server.session().intent(body))
            }),
        RefusalCase("sendIntent", .unsupportedMediaType, when: "there is no media type") { server in
            try await server.send(
                try await server.session().request(
                    "POST", "/features/probe/intents", body: #"{"type":"increment"}"#))
        },
        RefusalCase("sendIntent", .unsupportedMediaType, when: "it is a form") { server in
            try await server.send(
                try await server.session().request(
                    "POST", "/features/probe/intents", [("Content-Type", "application/x-www-form-urlencoded")],
                    body: "type=increment"))
        },
        intent(
            .unsupportedMediaType, when: "the body is compressed", #"{"type":"increment"}"#,
            [("Content-Encoding", "gzip")]),
        intent(.invalidJSON, when: "the body is empty", ""),
        intent(.invalidJSON, when: "the body is cut off", #"{"type":"add","amount""#),
        intent(.invalidJSON, when: "a member is repeated", #"{"type":"increment","type":"load"}"#),
        intent(.invalidJSON, when: "something follows", #"{"type":"increment"} x"#),
        intent(.invalidJSON, when: "it nests too deep", String(repeating: "[", count: 100_000)),
        intent(.invalidJSON, when: "a string has a line feed", "{\"type\":\"incre\nment\"}"),
        intent(.badRequest, when: "the key is malformed", "{}", [("Idempotency-Key", "\"open")]),
        intent(.badRequest, when: "the key is empty", "{}", [("Idempotency-Key", "\"\"")]),
        intent(
            .badRequest, when: "the key is too long", "{}",
            [("Idempotency-Key", String(repeating: "k", count: 256))]),
        intent(
            .badRequest, when: "there are a key and a number", "{}",
            [("Idempotency-Key", "a"), ("Intent-Seq", "1"), ("Intent-Epoch", "e")]),
        intent(
            .badRequest, when: "there are two keys", "{}", [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]),
        intent(.badRequest, when: "If-Match is malformed", "{}", [("If-Match", "1")]),
        intent(
            .preconditionFailed, when: "the state has another tag", #"{"type":"increment"}"#,
            [("If-Match", "\"aaaa.1\"")]),
        RefusalCase("sendIntent", .preconditionFailed, when: "the tag is weak") { server in
            let session = try await server.session()
            let tag = try await server.send(session.request("GET", "/features/probe/state"))["etag"] ?? ""
            return try await server.send(session.intent(#"{"type":"increment"}"#, [("If-Match", "W/\(tag)")]))
        },
        intent(
            .preconditionFailed, when: "the tag is another one and the intent unknown", #"{"type":"explode"}"#,
            [("If-Match", "\"aaaa.1\"")]),
    ]

    private static let receipts: [RefusalCase] = [
        RefusalCase("sendIntent", .idempotencyKeyReused, when: "the key was used with another body") { server in
            let session = try await server.session()
            _ = try await server.send(session.intent(#"{"type":"increment"}"#, [("Idempotency-Key", "\"k\"")]))
            return try await server.send(session.intent(#"{"type":"load"}"#, [("Idempotency-Key", "\"k\"")]))
        },
        RefusalCase("sendIntent", .intentInProgress, when: "the key's intent is not committed yet") { server in
            let session = try await server.session()
            let intent = session.intent(#"{"type":"increment"}"#, [("Idempotency-Key", "\"k\"")])
            _ = try await server.send(session.request("GET", "/features/probe/state"))
            server.journal.hold()
            async let first = server.send(intent)
            try await server.journal.untilHeld()
            let second = try await server.send(intent)
            server.journal.release()
            #expect(try await first.status == 202)
            return second
        },
        RefusalCase(
            "sendIntent", .tooManyReceipts, when: "all receipts are young", settings: { $0.maxReceipts = 1 },
            ask: { server in
                let session = try await server.session()
                let first = session.intent(#"{"type":"increment"}"#, [("Idempotency-Key", "\"a\"")])
                #expect(try await server.send(first).status == 202)
                return try await server.send(
                    session.intent(#"{"type":"increment"}"#, [("Idempotency-Key", "\"b\"")]))
            }),
        RefusalCase("sendIntent", .outOfSequence, when: "a number was left out") { server in
            let response = try await server.send(
                try await server.session().intent(
                    #"{"type":"increment"}"#, [("Intent-Seq", "2"), ("Intent-Epoch", "e")]))
            #expect(response["expected-seq"] == "1")
            return response
        },
        RefusalCase(
            "sendIntent", .receiptExpired, when: "the number's receipt has expired", settings: { $0.maxReceipts = 1 },
            ask: { server in
                let session = try await server.session()
                func send(_ number: Int) async throws -> TestResponse {
                    try await server.send(
                        session.intent(
                            #"{"type":"increment"}"#, [("Intent-Seq", "\(number)"), ("Intent-Epoch", "e")]))
                }
                #expect(try await send(1).status == 202)
                server.time.advance(by: .seconds(601))
                #expect(try await send(2).status == 202)
                return try await send(1)
            }),
    ]

    private static func intent(
        _ type: ProblemType, when: String, _ body: String, _ fields: [(name: String, value: String)] = [],
        to feature: String = "probe"
    ) -> RefusalCase {
        RefusalCase("sendIntent", type, when: when) { server in
            try await server.send(try await server.session().intent(body, fields, to: feature))
        }
    }

    private static func failingJournal(
        _ type: ProblemType, _ code: StoreError.Code
    ) -> RefusalCase {
        RefusalCase("sendIntent", type, when: "the journal fails") { server in
            let session = try await server.session()
            _ = try await server.send(session.request("GET", "/features/probe/state"))
            server.journal.fail(code)
            return try await server.send(session.intent(#"{"type":"increment"}"#))
        }
    }
}

extension TestServer {
    /// Runs `body` while the commit of one intent is held; `held` is its answer.
    func duringHeldCommit(
        of session: Credential, _ body: (_ held: Task<TestResponse, any Error>) async throws -> TestResponse
    ) async throws -> TestResponse {
        _ = try await send(session.request("GET", "/features/probe/state"))
        journal.hold()
        let held = Task { try await send(session.intent(#"{"type":"increment"}"#)) }
        try await journal.untilHeld()
        let answer = try await body(held)
        journal.release()
        _ = try await held.value
        return answer
    }

    /// Queues an intent behind the one whose commit is held.
    func queueIntent(of session: Credential) throws {
        let probe = try #require(FeatureID("probe"))
        try live(session).send(IntentRequest(body: Array(#"{"type":"increment"}"#.utf8)), to: probe) { _ in }
    }
}
