import Testing

@testable import MVIServer

@Suite("The examples of openapi.yaml", .timeLimit(.minutes(10)))
struct ExampleTests {
    /// The request of a tool that takes every example of an operation at once.
    @Test("add up to a request that the server takes", arguments: OpenAPIDescription.all)
    func together(_ operation: OpenAPIDescription.Operation) async throws {
        var target = operation.path
        // The examples are of the demo's features.
        for (parameter, value) in [
            ("{id}", "probe"), ("/features/{name}", "/features/probe"), ("{name}", "busy"), ("{file}", "style.css"),
        ] {
            if let range = target.firstRange(of: parameter) { target.replaceSubrange(range, with: value) }
        }
        try await TestServer.run(.memory, authenticator: WordAuthenticator()) { server in
            for body in operation.exampleBodies.isEmpty ? [""] : operation.exampleBodies {
                var request = TestRequest(
                    operation.method, target, operation.exampleFields.map { (name: $0.key, value: $0.value) },
                    body: body)
                if operation.takesJSON { request = request.with("Content-Type", "application/json") }
                if operation.hasSession { request.fields.append(try await server.session().field) }
                let response = try await server.send(request)
                #expect(operation.successes.contains(response.status), "\(body): \(response.text)")
            }
        }
    }
}
