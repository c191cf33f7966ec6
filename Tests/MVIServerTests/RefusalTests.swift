import MVI
import Testing

@testable import MVIServer

@Suite("Refusals: the exact status and problem, and the server keeps running", .timeLimit(.minutes(10)))
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
        for operation in OpenAPIDescription.all where !["HEAD", "OPTIONS"].contains(operation.method) {
            for problem in operation.problems.values.flatMap({ $0 }) {
                missing.insert("\(operation.id) \(problem.dropFirst("/problems/".count))")
            }
        }
        for refusal in Self.cases { missing.remove("\(refusal.operation) \(refusal.type.name)") }
        missing.remove("sendIntent draining")
        // The page's routes exist only for existing files.
        missing.subtract(["readPage not-found", "readFile not-found"])
        #expect(missing.isEmpty, "\(missing.sorted())")
    }

    @Test("every code of an error has an answer of its own")
    func everyCode() throws {
        let codes = try [
            "MVI/Store/StoreError", "Sessions/Session/Errors", "Sessions/Directory/SessionTable+spaces",
            "SessionJournal/JournalBatch",
        ].map { "Sources/\($0).swift" }.flatMap { path in
            try Repository.text(path).matches(of: #/static let \w+ = Self\("(\w+)"/#).map { String($0.1) }
        }
        #expect(codes.count > 25)
        for code in codes { #expect(ProblemType.of(StoreError.Code(code)) != nil, "\(code) has none") }
    }
}
