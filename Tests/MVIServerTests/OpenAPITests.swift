import Sessions
import Testing
import Yams

@testable import MVIServer

@Suite("openapi.yaml and the routes say the same")
struct OpenAPITests {
    private let description: OpenAPIDescription

    init() throws { description = try OpenAPIDescription() }

    private func name(_ route: Route) -> String { "\(route.method.rawValue) \(route.path)" }

    @Test("neither has an operation that the other lacks")
    func operations() {
        #expect(Set(description.operations.keys) == Set(Route.table.map(name)))
    }

    @Test("the ids of operations are those of the routes")
    func ids() throws {
        for route in Route.table where route.method != .head && route.method != .options {
            #expect(description.operations[name(route)]?.id == route.operation.rawValue)
        }
    }

    @Test("each operation has the same successes and the same problems, by status", arguments: Route.table)
    func statuses(_ route: Route) throws {
        let operation = try #require(description.operations[name(route)])
        #expect(operation.successes == Set(route.successes))
        let declared = Dictionary(grouping: route.problems, by: { "\($0.status)" })
            .mapValues { Set($0.map(\.reference)) }
        #expect(operation.problems == declared)
    }

    @Test("each operation has the same header fields and query parameters", arguments: Route.table)
    func fields(_ route: Route) throws {
        let operation = try #require(description.operations[name(route)])
        #expect(operation.query == Set(route.query))
        // OpenAPI says these in other ways: as the body's and the answer's media types, and as a security scheme.
        let elsewhere: Set = ["Content-Type", "Accept", "Cookie"]
        #expect(operation.requestFields == Set(route.requestFields).subtracting(elsewhere))
        #expect(operation.takesJSON == route.requestFields.contains("Content-Type"))
        #expect(operation.hasSession == (route.access == .session))
        if operation.givesStream { #expect(route.requestFields.contains("Accept")) }
        #expect(operation.responseFields == Set(route.responseFields).subtracting(["Content-Type"]))
    }

    @Test("what holds everywhere is the same")
    func everywhere() throws {
        let everywhere = try #require(description.root["x-everywhere"])
        func list(_ name: String) -> Set<String> { Set(everywhere[name]?.sequence?.compactMap(\.string) ?? []) }
        #expect(list("parameters") == Set(Route.Everywhere.requestFields))
        #expect(list("headers") == Set(Route.Everywhere.responseFields))
        #expect(list("problems") == Set(Route.Everywhere.problems.map(\.name)))
        let refused = try #require(description.root["components"]?["responses"]?["Refused"])
        #expect(try description.problems(of: refused) == Set(Route.Everywhere.problems.map(\.reference)))
    }

    @Test("neither has an event that the other lacks")
    func events() throws {
        let stream = try #require(description.root["components"]?["responses"]?["Stream"])
        let events = try #require(stream["content"]?["text/event-stream"]?["x-events"]?.mapping)
        #expect(Set(events.keys.compactMap(\.string)) == Set(StreamEvents.names))
        for (_, event) in events { #expect(try description.follow(event)["required"] != nil) }
    }

    @Test("the reasons of goaway and reset are the same")
    func reasons() throws {
        func reasons(_ schema: String) throws -> Set<String> {
            let node = description.root["components"]?["schemas"]?[schema]?["properties"]?["reason"]?["enum"]
            return Set(try #require(node?.sequence).compactMap(\.string))
        }
        #expect(try reasons("GoAwayEvent") == Set(GoAwayReason.allCases.map(\.rawValue)))
        #expect(try reasons("ResetEvent") == Set(ResetReason.allCases.map(\.rawValue)))
    }

    @Test("every problem type is used by some route, and every one used has a page")
    func problemTypes() {
        let used = Set(Route.table.flatMap(\.problems) + Route.Everywhere.problems)
        // These are answers to paths and methods that no route has.
        #expect(used.union([.notFound, .methodNotAllowed]) == Set(ProblemType.all))
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

extension Route: CustomTestStringConvertible {
    /// Its method and path.
    public var testDescription: String { "\(method.rawValue) \(path)" }
}
