import Sessions
import Testing
import Yams

@testable import MVIServer

@Suite("openapi.yaml, the declared operations and the endpoints say the same")
struct OpenAPITests {
    private let operations: [String: OpenAPIDescription.Operation]

    init() throws { operations = try OpenAPIDescription.operations.get() }

    private func name(_ route: Declared) -> String { "\(route.method.rawValue) \(route.path)" }

    @Test("neither has an operation that the other lacks")
    func sameOperations() {
        #expect(Set(operations.keys) == Set(Declared.table.map(name)))
    }

    @Test("every operation has an id of its own, after the routes'")
    func ids() throws {
        for route in Declared.table { #expect(operations[name(route)]?.id == route.id) }
        #expect(Set(Declared.table.map(\.id)).count == Declared.table.count)
    }

    @Test("each endpoint is declared, and each declared operation has its endpoint")
    func endpoints() {
        let router = Router.ofTests([PageResource(path: "/", contentType: "text/html", bytes: [])])
        for declared in Declared.table {
            switch router.route(method: declared.method.rawValue, path: Array(declared.path.utf8)) {
            case .found(let endpoint, _, _):
                #expect(endpoint.name == declared.operation.rawValue)
                if case .session = endpoint.access {
                    #expect(declared.hasSession)
                } else {
                    #expect(!declared.hasSession)
                }
                #expect((endpoint.bodyLimit > 0) == declared.requestFields.contains("Content-Type"))
            case .options: #expect(declared.operation == .describeOptions)
            // Of the page's files only the page is there.
            default: #expect(declared.operation == .readFile || declared.path == "/{file}")
            }
        }
        #expect(Set(router.endpoints.map(\.name)).isSubset(of: Set(Operation.allCases.map(\.rawValue))))
    }

    @Test("each operation has the same successes and the same problems, by status", arguments: Declared.table)
    func statuses(_ route: Declared) throws {
        let operation = try #require(operations[name(route)])
        #expect(operation.successes == Set(route.successes))
        let declared = Dictionary(grouping: route.problems, by: { "\($0.status)" })
            .mapValues { Set($0.map(\.reference)) }
        #expect(operation.problems == declared)
    }

    @Test("each operation has the same header fields and query parameters", arguments: Declared.table)
    func fields(_ route: Declared) throws {
        let operation = try #require(operations[name(route)])
        #expect(operation.query == Set(route.query))
        // OpenAPI says these in other ways: as the body's and the answer's media types, and as a security scheme.
        let elsewhere: Set = ["Content-Type", "Accept", "Cookie"]
        #expect(operation.requestFields == Set(route.requestFields).subtracting(elsewhere))
        #expect(operation.takesJSON == route.requestFields.contains("Content-Type"))
        #expect(operation.hasSession == (route.hasSession))
        if operation.givesStream { #expect(route.requestFields.contains("Accept")) }
        #expect(operation.responseFields == Set(route.responseFields).subtracting(["Content-Type"]))
    }

    @Test("what holds everywhere is the same")
    func everywhere() throws {
        let description = try OpenAPIDescription()
        let everywhere = try #require(description.root["x-everywhere"])
        func list(_ name: String) -> Set<String> { Set(everywhere[name]?.sequence?.compactMap(\.string) ?? []) }
        #expect(list("parameters") == Set(Declared.Everywhere.requestFields))
        #expect(list("headers") == Set(Declared.Everywhere.responseFields))
        #expect(list("problems") == Set(Declared.Everywhere.problems.map(\.name)))
        let refused = try #require(description.root["components"]?["responses"]?["Refused"])
        #expect(try description.problems(of: refused) == Set(Declared.Everywhere.problems.map(\.reference)))
    }

    @Test("what holds for custom endpoints is the same")
    func customEndpoints() throws {
        let description = try OpenAPIDescription()
        let problems = try #require(description.root["x-custom-endpoints"]?["problems"]?.sequence)
        #expect(Set(problems.compactMap(\.string)) == Set(Declared.CustomEndpoints.problems.map(\.name)))
    }

    @Test("every link leads to an operation, and gives it parameters that it has")
    func links() throws {
        var sources: Set<String> = []
        for (source, operation) in operations {
            for link in operation.links {
                sources.insert(source)
                let target = try #require(
                    operations.first { $0.value.id == link.operation }, "\(link.operation)")
                for parameter in link.parameters {
                    let name = String(parameter.split(separator: ".").last ?? "")
                    let fields = target.value.requestFields.union(target.value.query)
                    #expect(target.key.contains("{\(name)}") || fields.contains(name), "\(link.operation): \(name)")
                }
            }
        }
        #expect(sources.isSuperset(of: ["POST /sessions", "POST /features/{id}/intents", "GET /features/{id}/state"]))
    }

    @Test("neither has an event that the other lacks")
    func events() throws {
        let description = try OpenAPIDescription()
        let stream = try #require(description.root["components"]?["responses"]?["Stream"])
        let events = try #require(stream["content"]?["text/event-stream"]?["x-events"]?.mapping)
        #expect(Set(events.keys.compactMap(\.string)) == Set(StreamEvents.names))
        for (_, event) in events { #expect(try description.follow(event)["required"] != nil) }
    }

    @Test("the reasons of goaway and reset are the same")
    func reasons() throws {
        let description = try OpenAPIDescription()
        func reasons(_ schema: String) throws -> Set<String> {
            let node = description.root["components"]?["schemas"]?[schema]?["properties"]?["reason"]?["enum"]
            return Set(try #require(node?.sequence).compactMap(\.string))
        }
        #expect(try reasons("GoAwayEvent") == Set(GoAwayReason.allCases.map(\.rawValue)))
        #expect(try reasons("ResetEvent") == Set(ResetReason.allCases.map(\.rawValue)))
    }

    @Test("every problem type is used by some route, and every one used has a page")
    func problemTypes() {
        let used = Set(
            Declared.table.flatMap(\.problems) + Declared.Everywhere.problems + Declared.CustomEndpoints.problems)
        // These are answers to paths and methods that no route has.
        let ofAdmin: Set<ProblemType> = [.adminUnauthorized, .adminClosed, .adminSessionNotFound]
        #expect(used.union([.notFound, .methodNotAllowed]).union(ofAdmin) == Set(ProblemType.all))
    }

    @Test("problem types have names of their own, and say all that they should")
    func problemNames() {
        #expect(Set(ProblemType.all.map(\.name)).count == ProblemType.all.count)
        for type in ProblemType.all {
            #expect(type.name.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x2D })
            #expect((400...599).contains(type.status))
            #expect(!type.title.isEmpty && type.meaning.hasSuffix(".") && type.remedy.hasSuffix("."))
        }
    }
}

extension Declared: CustomTestStringConvertible {
    /// Its method and path.
    public var testDescription: String { "\(method.rawValue) \(path)" }
}
