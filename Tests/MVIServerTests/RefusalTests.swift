import Testing

@testable import MVIServer

@Suite("Refusals: the exact status and problem, and the server goes on", .timeLimit(.minutes(10)))
struct RefusalTests {
    static let cases =
        RefusalCase.intents + RefusalCase.credentials + RefusalCase.otherSession + RefusalCase.ended
        + RefusalCase.crossSite + RefusalCase.sessions + RefusalCase.states + RefusalCase.streams + RefusalCase.kept
        + RefusalCase.others + RefusalCase.identity + RefusalCase.rules

    @Test("is refused", arguments: cases, Depth.allCases)
    func refusal(_ refusal: RefusalCase, depth: Depth) async throws {
        try await TestServer.run(
            depth, authenticator: refusal.authenticator, content: refusal.content, refusal.settings
        ) { server in
            let response = try await refusal.ask(server)
            #expect(response.status == refusal.type.status)
            #expect(response.problem == refusal.type.name)
            #expect(try await server.isServing())
        }
    }

    @Test("every problem that a route declares is among these")
    func everyProblem() {
        var missing: Set<String> = []
        for route in Declared.table where route.method != .head && route.method != .options {
            for type in route.problems where type != .draining || route.operation != .sendIntent {
                missing.insert("\(route.operation.rawValue) \(type.name)")
            }
        }
        for refusal in Self.cases { missing.remove("\(refusal.operation.rawValue) \(refusal.type.name)") }
        // The page's routes exist only for the files that there are.
        missing.subtract(["readPage not-found", "readFile not-found"])
        #expect(missing.isEmpty, "\(missing.sorted())")
    }

    @Test("every code of an error has an answer of its own")
    func everyCode() throws {
        let codes = try ["Sources/MVI/Store/StoreError.swift", "Sources/Sessions/Session/Errors.swift"].flatMap {
            path in
            try Repository.text(path).matches(of: #/static let (\w+) = Self\("/#).map { String($0.1) }
        }
        #expect(codes.count > 25)
        let answers = try Repository.text("Sources/MVIServer/Problems/Problem+error.swift")
        for code in codes {
            #expect(answers.firstMatch(of: try Regex("case [^:]*\\.\(code)\\b[^:]*:")) != nil, "\(code) has none")
        }
    }
}
