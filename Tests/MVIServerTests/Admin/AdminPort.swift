import CResources
import MVITesting
import PrometheusMetrics
import SessionJournal
import Testing
import Yams

@testable import MVIServer

/// The admin port of a server, used in memory or over a socket.
struct AdminPort: Sendable {
    static let token = "0123456789abcdef-admin"
    let server: TestServer
    private let client: any Client

    /// Runs a test on a server with an admin port.
    static func run(
        _ depth: Depth = .memory, in world: World = World(), authenticator: (any Authenticator)? = nil,
        content: (Gate) throws -> ServerContent = TestServer.probes,
        _ change: (inout ServerSettings) -> Void = { _ in }, _ test: (AdminPort) async throws -> Void
    ) async throws {
        try await TestServer.run(
            depth, in: world, authenticator: authenticator, observation: ServerObservation(PrometheusRegistry()),
            content: content,
            {
                $0.adminPort = 0
                $0.adminToken = AdminToken(token)
                change(&$0)
            }
        ) { server in
            let admin = try #require(server.assembly.admin)
            if depth == .socket { try admin.start() }
            let port = try AdminPort(server, depth)
            do {
                try await test(port)
                if depth == .socket { await admin.shutdown(grace: .zero) }
            } catch {
                if depth == .socket { await admin.shutdown(grace: .zero) }
                throw error
            }
        }
    }

    /// - Parameter depth: in memory or over a socket, which requires a started server.
    init(_ server: TestServer, _ depth: Depth = .memory) throws {
        self.server = server
        client =
            depth == .memory
            ? MemoryClient(application: try #require(server.assembly.adminApplication))
            : SocketClient(port: try #require(server.assembly.admin).port)
    }

    /// Sends a request with the admin token, and checks its answer against the contract.
    ///
    /// - Parameter token: another token; nil for none.
    func send(
        _ method: String, _ target: String, _ fields: [(name: String, value: String)] = [], body: String = "",
        token: String? = AdminPort.token
    ) async throws -> TestResponse {
        let credential = token.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
        let answer = try await client.exchange(TestRequest(method, target, credential + fields, body: body))
        try AdminContract.check(method, target, answer)
        return answer
    }

    func intent(
        _ json: String, to feature: String = "probe", of session: String, query: String = "",
        _ fields: [(name: String, value: String)] = []
    ) async throws -> TestResponse {
        try await send(
            "POST", "/admin/sessions/\(session)/features/\(feature)/intents\(query)",
            [("Content-Type", "application/json")] + fields, body: json)
    }
}

/// The parts of `openapi-admin.yaml` that tests use.
struct AdminContract {
    struct Operation: Sendable {
        let id: String
        let statuses: Set<String>
        let problems: Set<String>
        /// The required members of the answer's schema, for each status of success.
        let required: Set<String>
        let members: Set<String>
    }

    /// Parsed once.
    private static let known = Result { try AdminContract() }

    /// The operations by method and path.
    let operations: [String: Operation]
    let everywhere: Set<String>

    static func get() throws -> AdminContract { try known.get() }

    init() throws {
        let file = cresources_openapi_admin_yaml()
        let text = String(decoding: UnsafeBufferPointer(start: file.bytes, count: file.count), as: UTF8.self)
        let root = try #require(try Yams.compose(yaml: text))
        func names(_ node: Node?) -> Set<String> { Set(node?.sequence?.compactMap(\.string) ?? []) }
        everywhere = names(root["x-everywhere"]?["problems"])
        var operations: [String: Operation] = [:]
        for (path, item) in try #require(root["paths"]?.mapping) {
            for (method, operation) in try #require(item.mapping) where method.string != "parameters" {
                let responses = try #require(operation["responses"]?.mapping)
                let success = responses.first { $0.key.string?.first == "2" }?.value
                let reference = success?["content"]?["application/json"]?["schema"]?["$ref"]?.string
                let schema = reference.flatMap { reference in
                    reference.split(separator: "/").last.flatMap { root["components"]?["schemas"]?[String($0)] }
                }
                operations["\(try #require(method.string).uppercased()) \(try #require(path.string))"] = Operation(
                    id: try #require(operation["operationId"]?.string),
                    statuses: Set(responses.compactMap { $0.key.string }),
                    problems: names(operation["x-problems"]), required: names(schema?["required"]),
                    members: Set(schema?["properties"]?.mapping?.compactMap { $0.key.string } ?? []))
            }
        }
        self.operations = operations
    }

    static func check(_ method: String, _ target: String, _ answer: TestResponse) throws {
        let contract = try get()
        let path = Array(target.prefix { $0 != "?" }.utf8)
        let found = contract.operations.first { name, _ in
            let parts = name.split(separator: " ")
            return parts[0] == (method == "HEAD" ? "GET" : method) && PathPattern(String(parts[1])).match(path) != .no
        }
        #expect(answer["x-content-type-options"] == "nosniff")
        #expect(answer["cache-control"] != nil)
        for name in ["cross-origin-resource-policy", "cross-origin-opener-policy"] {
            #expect(answer[name] == "same-origin", "\(method) \(target) \(answer.status) \(name)")
        }
        guard let operation = found?.value else {
            #expect([404, 405, 204].contains(answer.status), "\(method) \(target)")
            return
        }
        if let problem = answer.problem {
            #expect(
                operation.problems.union(contract.everywhere).contains(problem),
                "\(operation.id) answers \(problem), which is not declared")
            #expect(ProblemType.all.contains { $0.name == problem && $0.status == answer.status })
        } else {
            #expect(operation.statuses.contains("\(answer.status)"), "\(operation.id) answers \(answer.status)")
            guard method == "GET" || method == "POST", !operation.members.isEmpty else { return }
            let node = try #require(try Yams.compose(yaml: answer.text))
            let members = Set(node.mapping?.compactMap { $0.key.string } ?? [])
            #expect(operation.required.isSubset(of: members), "\(operation.id) lacks members")
            #expect(members.isSubset(of: operation.members), "\(members.subtracting(operation.members))")
        }
    }
}
