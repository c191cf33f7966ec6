import Sessions
import Testing
import Yams

@testable import MVIServer

@Suite("openapi.yaml and the routes say the same")
struct OpenAPITests {
    private let description = OpenAPIDescription.known
    private let routes = Router.ofTests(TestServer.page).routes

    @Test("neither has an operation that the other lacks")
    func sameOperations() {
        let served = Set(
            routes.flatMap { route in
                ([route.method, .options] + (route.method == .get ? [.head] : []))
                    .map { "\($0.rawValue) \(route.describedPath)" }
            })
        let described = Set(description.operations.keys)
        #expect(served.subtracting(described).isEmpty, "openapi.yaml lacks operations of routes")
        #expect(described.subtracting(served).isEmpty, "openapi.yaml has operations without a route")
    }

    @Test("every operation has an id of its own, after the routes'")
    func ids() throws {
        for route in routes {
            let operation = try #require(description.operations["\(route.method.rawValue) \(route.describedPath)"])
            #expect(operation.id == route.name)
            let head = description.operations["HEAD \(route.describedPath)"]
            #expect(head == nil || route.method != .get || head?.id == "\(route.name)Head")
        }
        for operation in OpenAPIDescription.all where operation.method == "OPTIONS" {
            let ofPath = routes.filter { $0.describedPath == operation.path }.map { "\($0.name)Options" }
            #expect(ofPath.contains(operation.id))
        }
        #expect(Set(OpenAPIDescription.all.map(\.id)).count == OpenAPIDescription.all.count)
    }

    @Test("each operation needs a session and has a body if its route does", arguments: OpenAPIDescription.all)
    func endpoints(_ operation: OpenAPIDescription.Operation) throws {
        guard operation.method != "OPTIONS" else {
            #expect(!operation.hasSession && !operation.takesJSON)
            return
        }
        let method = operation.method == "HEAD" ? "GET" : operation.method
        let route = try #require(routes.first { $0.method.rawValue == method && $0.describedPath == operation.path })
        if case .session = route.access { #expect(operation.hasSession) } else { #expect(!operation.hasSession) }
        #expect(operation.takesJSON == (route.bodyLimit > 0))
    }

    @Test("each problem of an operation has the status of its type", arguments: OpenAPIDescription.all)
    func statuses(_ operation: OpenAPIDescription.Operation) throws {
        for (status, problems) in operation.problems {
            for problem in problems {
                let type = try #require(ProblemType.all.first { $0.reference == problem }, "there is no \(problem)")
                #expect("\(type.status)" == status)
            }
        }
    }

    @Test("the common parts are the same")
    func everywhere() throws {
        let file = try OpenAPIFile()
        let refused = try #require(file.root["components"]?["responses"]?["Refused"])
        let references = Set(description.everywhere.problems.map { "/problems/\($0)" })
        #expect(try file.problems(of: refused) == references && !references.isEmpty)
        #expect(!description.everywhere.responseFields.isEmpty && description.everywhere.requestFields == ["Origin"])
    }

    @Test("every link leads to an operation and uses its parameters")
    func links() throws {
        var sources: Set<String> = []
        for (source, operation) in description.operations {
            for link in operation.links {
                sources.insert(source)
                let target = try #require(
                    description.operations.first { $0.value.id == link.operation }, "\(link.operation)")
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
        let file = try OpenAPIFile()
        let stream = try #require(file.root["components"]?["responses"]?["Stream"])
        let events = try #require(stream["content"]?["text/event-stream"]?["x-events"]?.mapping)
        #expect(Set(events.keys.compactMap(\.string)) == Set(StreamEvents.names))
        for (_, event) in events { #expect(try file.follow(event)["required"] != nil) }
    }

    @Test("the reasons of goaway and reset are the same")
    func reasons() throws {
        let file = try OpenAPIFile()
        func reasons(_ schema: String) throws -> Set<String> {
            let node = file.root["components"]?["schemas"]?[schema]?["properties"]?["reason"]?["enum"]
            return Set(try #require(node?.sequence).compactMap(\.string))
        }
        #expect(try reasons("GoAwayEvent") == Set(GoAwayReason.allCases.map(\.rawValue)))
        #expect(try reasons("ResetEvent") == Set(ResetReason.allCases.map(\.rawValue)))
    }

    @Test("every problem type is used by some route, and every one used has a page")
    func problemTypes() {
        let used = OpenAPIDescription.all.flatMap { $0.problems.values.flatMap { $0.map { $0.dropFirst(10) } } }
        let common = description.everywhere.problems.union(description.customEndpoints.problems)
        // Those of paths and methods that no route has, and of the admin port, which a document of its own describes.
        let others = ["not-found", "method-not-allowed"] + ProblemType.ofAdmin.map(\.name)
        #expect(Set(used.map(String.init)).union(common).union(others) == Set(ProblemType.all.map(\.name)))
    }

    @Test("problem types have unique names and complete texts")
    func problemNames() {
        #expect(Set(ProblemType.all.map(\.name)).count == ProblemType.all.count)
        for type in ProblemType.all {
            #expect(type.name.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x2D })
            #expect((400...599).contains(type.status))
            #expect(!type.title.isEmpty && type.meaning.hasSuffix(".") && type.remedy.hasSuffix("."))
        }
    }
}
