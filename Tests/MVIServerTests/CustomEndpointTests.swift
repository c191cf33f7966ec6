import MVI
import MVITesting
import SessionJournal
import Sessions
import Testing

@testable import MVIServer

@Suite("Custom endpoints", .timeLimit(.minutes(10)))
struct CustomEndpointTests {
    private struct Payment: Codable { var session: String }
    private struct Broken: Error {}

    /// Each fails in the way that its parameter names.
    @FeatureBuilder
    private static func hooks(_ gate: Gate) -> ServerContent {
        TestServer.probes(gate)
        Endpoint(.post, "/hooks/{way}", summary: "Fails.") { request, sessions in
            switch request.parameter {
            case "forbidden": throw Refusal(.forbidden, code: "bad-signature", "The signature is not good.")
            case "missing": throw Refusal(.notFound, "There is no such order.")
            case "conflict": throw Refusal(.conflict, "The order was paid before.")
            case "invalid": throw Refusal(.invalid, "The amount is wrong.", pointer: "/amount")
            case "many": throw Refusal(.tooMany(retryAfter: .seconds(3)), "Later.")
            case "broken": throw Broken()
            default: break
            }
            let payment = try request.decode(Payment.self)
            try await sessions.send(
                .increment, to: Probe.self, session: payment.session, makesStore: request.parameter == "make")
            return .noContent
        }
    }

    private static let ways: [(way: String, body: String, problem: ProblemType)] = [
        ("forbidden", "", .forbidden), ("missing", "", .targetNotFound), ("conflict", "", .intentConflict),
        ("invalid", "", .intentRefused), ("many", "", .tooManyRequests), ("broken", "", .endpointFailed),
        ("pay", "{", .invalidJSON), ("pay", #"{"session":1}"#, .invalidBody),
        ("pay", #"{"session":"nobody"}"#, .sessionEnded), ("pay", #"{"session":"SESSION"}"#, .featureNotFound),
    ]

    private func ask(_ server: TestServer, _ way: String, _ body: String) async throws -> TestResponse {
        let session = try await server.session()
        _ = try await server.send(session.request("DELETE", "/features/probe/state"))
        _ = try await server.send(session.intent(#"{"type":"weigh","weight":2}"#, to: "item:1"))
        return try await server.client.exchange(
            TestRequest("POST", "/hooks/\(way)", body: body.replacing("SESSION", with: session.id)))
    }

    @Test("a refusal, a body that cannot be read and a throw are problems", arguments: ways, Depth.allCases)
    func problems(_ expected: (way: String, body: String, problem: ProblemType), depth: Depth) async throws {
        try await TestServer.run(depth, content: Self.hooks) { server in
            let response = try await ask(server, expected.way, expected.body)
            #expect(response.status == expected.problem.status)
            #expect(response.problem == expected.problem.name)
            #expect(try await server.isServing())
        }
    }

    @Test(
        "what cannot be kept is a problem",
        arguments: [
            (StoreError.Code.unavailable, ProblemType.journalUnavailable), (.full, .storageFull),
            (.elsewhere, .ownerUnreachable), (.newerState, .newerState),
        ])
    func unkept(code: StoreError.Code, problem: ProblemType) async throws {
        try await TestServer.run(.memory, content: Self.hooks) { server in
            let session = try await server.session()
            _ = try await server.send(session.intent(#"{"type":"increment"}"#))
            server.journal.fail(code)
            let response = try await server.client.exchange(
                TestRequest("POST", "/hooks/pay", body: #"{"session":"\#(session.id)"}"#))
            #expect(response.problem == problem.name)
        }
    }

    @Test("the problems of openapi.yaml are those that these tests met")
    func declared() {
        let met = Set(Self.ways.map(\.problem) + [.journalUnavailable, .ownerUnreachable, .newerState, .storageFull])
        #expect(met == Set(Declared.CustomEndpoints.problems))
    }

    @Test("a refusal's code and place are members of its problem")
    func members() async throws {
        try await TestServer.run(.memory, content: Self.hooks) { server in
            let forbidden = try await ask(server, "forbidden", "").json(TestResponse.Problem.self)
            #expect(forbidden.code == "bad-signature")
            let invalid = try await ask(server, "invalid", "").json(TestResponse.Problem.self)
            #expect(invalid.errors?.map(\.pointer) == ["/amount"])
        }
    }

    @Test("the served description lists them")
    func description() async throws {
        try await TestServer.run(.memory, content: Self.hooks) { server in
            let file = try await server.send(TestRequest("GET", "/openapi.yaml")).text
            #expect(file.contains("\n  \"/hooks/{way}\":\n    post:\n      tags: [custom]\n"))
        }
    }
}
