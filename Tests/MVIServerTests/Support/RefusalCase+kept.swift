import MVI
import SessionJournal
import Testing

@testable import MVIServer
@testable import Sessions

extension RefusalCase {
    typealias Asked = (
        operation: String, method: String, target: String, fields: [(name: String, value: String)], body: String
    )

    /// Every operation of a session, with a request that would succeed.
    static let ofSession: [Asked] = [
        ("describeSession", "GET", "/sessions/current", [], ""),
        ("updateSession", "PUT", "/sessions/current", [json], #"{"locale":"de"}"#),
        ("endSession", "DELETE", "/sessions/current", [], ""),
        ("signIn", "PUT", "/sessions/current/identity", [json], #"{"identity":"anna"}"#),
        ("signOut", "DELETE", "/sessions/current/identity", [], ""),
        ("readState", "GET", "/features/probe/state", [], ""),
        ("disposeStore", "DELETE", "/features/probe/state", [], ""),
        ("sendIntent", "POST", "/features/probe/intents", [json], #"{"type":"increment"}"#),
        ("streamFeature", "GET", "/features/probe/events", [("Prefer", "problem")], ""),
        ("streamSession", "GET", "/events", [("Prefer", "problem")], ""),
    ]

    /// The refusals because of the journal.
    static let kept: [RefusalCase] =
        noPlace + sessionsNotAtHand + storesNotAtHand + newerStores + elsewhere + noSpace + crowded + unwritten

    /// The session is empty, and there is no room for it in memory.
    private static let noPlace = ofSession.map { operation, method, target, fields, body in
        RefusalCase(
            operation, .tooManySessions, when: "the session is new and all places are in use",
            settings: { $0.maxSessions = 1 },
            ask: { server in
                let new = try await server.session()
                try server.holdStream(of: try await server.session())
                return try await server.send(new.request(method, target, fields, body: body))
            })
    }

    /// The session has to be brought into memory.
    private static let sessionsNotAtHand = ofSession.flatMap { operation, method, target, fields, body in
        [
            unreadable(operation, .journalUnavailable, .unavailable, method, target, fields, body),
            unreadable(operation, .storageFull, .full, method, target, fields, body),
        ]
    }

    private static func unreadable(
        _ operation: String, _ type: ProblemType, _ code: StoreError.Code, _ method: String, _ target: String,
        _ fields: [(name: String, value: String)], _ body: String
    ) -> RefusalCase {
        RefusalCase(operation, type, when: "the session cannot be read") { server in
            let session = try await server.session()
            try server.leaveMemory()
            server.journal.failLoads(code)
            let request = session.request(method, target, fields, body: body)
            let refused = try await server.send(request)
            // Nothing is lost.
            server.journal.failLoads(nil)
            #expect(try await server.send(session.request("GET", "/sessions/current")).status == 200)
            return refused
        }
    }

    /// The session is in memory, its store is not.
    private static let storesNotAtHand: [RefusalCase] =
        ofSession.filter { $0.target.contains("probe") && $0.method != "DELETE" || $0.target == "/events" }
        .flatMap { operation, method, target, fields, body in
            [(ProblemType.journalUnavailable, StoreError.Code.unavailable), (.storageFull, .full)].map {
                type, code in
                RefusalCase(operation, type, when: "the store cannot be read") { server in
                    let session = try await server.session()
                    _ = try await server.send(session.intent(#"{"type":"add","amount":3}"#))
                    try await server.passivateStores(of: session)
                    server.journal.failLoads(code)
                    let refused = try await server.send(session.request(method, target, fields, body: body))
                    server.journal.failLoads(nil)
                    let state = try await server.send(session.request("GET", "/features/probe/state"))
                    #expect(try state.json(Probe.State.self).count == 3)
                    return refused
                }
            }
        }

    /// A newer version of the feature wrote the store's state.
    private static let newerStores: [RefusalCase] =
        ofSession.filter { $0.target.contains("probe") && $0.method != "DELETE" || $0.target == "/events" }
        .map { operation, method, target, fields, body in
            RefusalCase(operation, .newerState, when: "a newer version wrote the state") { server in
                let session = try await server.session()
                _ = try await server.send(session.intent(#"{"type":"add","amount":3}"#))
                try await server.passivateStores(of: session)
                server.journal.failLoads(.newerState)
                // A stream of everything leaves such a store out.
                let target = operation == "streamSession" ? "\(target)?feature=probe" : target
                let refused = try await server.send(session.request(method, target, fields, body: body))
                server.journal.failLoads(nil)
                #expect(refused["retry-after"] == "10")
                return refused
            }
        }

    /// Another node owns the session, and this one has no connection to it.
    private static let elsewhere: [RefusalCase] = ofSession.filter { operation, _, _, _, _ in
        ["readState", "disposeStore", "sendIntent", "streamFeature", "streamSession"].contains(operation)
    }.map { operation, method, target, fields, body in
        RefusalCase(operation, .ownerUnreachable, when: "another node runs the session's turns") { server in
            let session = try await server.session()
            if operation == "disposeStore" { _ = try await server.send(session.intent(#"{"type":"increment"}"#)) }
            server.journal.fail(.elsewhere)
            // A stream of everything makes no store.
            let target = operation == "streamSession" ? "\(target)?feature=probe" : target
            let refused = try await server.send(session.request(method, target, fields, body: body))
            server.journal.fail(nil)
            let state = try await server.send(session.request("GET", "/features/probe/state"))
            #expect(try state.json(Probe.State.self).count == (operation == "disposeStore" ? 1 : 0))
            return refused
        }
    }

    /// The store is shared, and as many are stored as may be.
    private static let noSpace: [RefusalCase] = ofSession.filter { operation, _, _, _, _ in
        ["readState", "sendIntent", "streamFeature", "streamSession"].contains(operation)
    }.map { operation, method, target, fields, body in
        RefusalCase(
            operation, .tooManySpaces, when: "there are too many shared stores",
            content: { gate in Shared { Probe(gate: gate) }.allows(.everyone) },
            ask: { server in
                let session = try await server.session()
                server.journal.fail(.tooManySpaces)
                let target = operation == "streamSession" ? "\(target)?feature=probe" : target
                let refused = try await server.send(session.request(method, target, fields, body: body))
                server.journal.fail(nil)
                #expect(try await server.send(session.request("GET", "/features/probe/state")).status == 200)
                return refused
            })
    }

    /// As many audiences as may watch the store.
    private static let crowded: [RefusalCase] = ["streamFeature", "streamSession"].map { operation in
        RefusalCase(
            operation, .tooManyAudiences, when: "too many audiences watch the store",
            content: { _ in Shared { Places() }.allows(.everyone) },
            ask: { server in
                let session = try await server.session()
                #expect(try await server.send(session.request("GET", "/features/places/state")).status == 200)
                let space = try #require(SpaceName("places").flatMap { server.sessions.space(inMemory: $0) })
                guard case .live(let shared, _) = space else { throw TestServer.Gone() }
                let uses = try Self.audiences(of: shared, "places")
                let target = operation == "streamSession" ? "/events?feature=places" : "/features/places/events"
                let refused = try await server.send(session.request("GET", target, [("Prefer", "problem")]))
                withExtendedLifetime(uses) {}
                return refused
            })
    }

    private static func audiences(of session: Session, _ feature: String) throws -> [AudienceUse] {
        let id = try #require(FeatureID(feature))
        let book = try #require(session.core.withLock { $0.stores[id]?.shown?.book })
        return (0..<AudienceBook.most).compactMap { AudienceUse(book, AudienceKey($0)) }
    }

    /// The change cannot be stored.
    private static let unwritten: [RefusalCase] = [
        (ProblemType.journalUnavailable, StoreError.Code.unavailable), (.storageFull, .full),
    ].flatMap { type, code in
        [
            RefusalCase("createSession", type, when: "the session cannot be committed") { server in
                server.journal.fail(code)
                return try await server.send(TestRequest("POST", "/sessions"))
            },
            RefusalCase("createSession", type, when: "the cookie's session cannot be read") { server in
                let session = try await server.cookieSession()
                try server.leaveMemory()
                server.journal.failLoads(code)
                let request = session.request("POST", "/sessions", [json], body: #"{"credential":"cookie"}"#)
                let refused = try await server.send(request)
                server.journal.failLoads(nil)
                #expect(try await server.send(request).status == 200)
                return refused
            },
            RefusalCase("updateSession", type, when: "the commit fails") { server in
                let session = try await server.session()
                _ = try await server.send(session.intent(#"{"type":"increment"}"#))
                server.journal.fail(code)
                let refused = try await server.send(
                    session.request("PUT", "/sessions/current", [json], body: #"{"locale":"de"}"#))
                server.journal.fail(nil)
                let described = try await server.send(session.request("GET", "/sessions/current"))
                #expect(described.status == 200 && !described.text.contains("locale"))
                return refused
            },
            RefusalCase("endSession", type, when: "the commit fails") { server in
                let session = try await server.session()
                server.journal.fail(code)
                let refused = try await server.send(session.request("DELETE", "/sessions/current"))
                server.journal.fail(nil)
                // The session is closed here but has not ended on other nodes; its end can be repeated.
                let state = session.request("GET", "/features/probe/state")
                #expect(try await server.send(state).problem == "journal-unavailable")
                #expect(try await server.send(session.request("DELETE", "/sessions/current")).status == 204)
                #expect(try await server.send(state).problem == "session-ended")
                return refused
            },
            RefusalCase("disposeStore", type, when: "the commit fails") { server in
                let session = try await server.session()
                _ = try await server.send(session.intent(#"{"type":"increment"}"#))
                server.journal.fail(code)
                let refused = try await server.send(session.request("DELETE", "/features/probe/state"))
                server.journal.fail(nil)
                let state = try await server.send(session.request("GET", "/features/probe/state"))
                #expect(try state.json(Probe.State.self).count == 1)
                return refused
            },
            RefusalCase("sendIntent", type, when: "the refusal of a number cannot be committed") { server in
                let session = try await server.session()
                server.journal.fail(code)
                let numbered = [("Intent-Seq", "1"), ("Intent-Epoch", "e")]
                let refused = try await server.send(session.intent("{", numbered))
                server.journal.fail(nil)
                #expect(try await server.send(session.intent("{", numbered)).status == 400)
                return refused
            },
        ]
    }
}
