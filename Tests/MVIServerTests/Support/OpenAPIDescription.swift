import CResources
import Testing
import Yams

/// The parts of `openapi.yaml` that the tests use: every operation with resolved references.
struct OpenAPIDescription: Sendable {
    struct Operation: Sendable, CustomTestStringConvertible {
        let method: String
        let path: String
        var id = ""
        var hasSession = false
        var query: Set<String> = []
        var requestFields: Set<String> = []
        var takesJSON = false
        /// The examples of the header fields, by name.
        var exampleFields: [String: String] = [:]
        /// The examples of the body, as JSON.
        var exampleBodies: [String] = []
        /// The answers by status, without `default`.
        var problems: [String: Set<String>] = [:]
        var successes: Set<Int> = []
        var responseFields: Set<String> = []
        /// The fields that every answer of a status has.
        var requiredFields: [String: Set<String>] = [:]
        /// True if an answer has a body.
        var givesContent = false
        var links: [Link] = []

        var testDescription: String { "\(method) \(path)" }

        /// Returns true if the operation, or every operation, may answer a problem with a status.
        func mayAnswer(_ problem: String, _ status: Int) -> Bool {
            problems["\(status)"]?.contains("/problems/\(problem)") == true
                || OpenAPIDescription.known.everywhere.problems.contains(problem)
        }
    }

    /// The common members of several operations.
    struct Common: Sendable {
        var problems: Set<String> = []
        var requestFields: Set<String> = []
        var responseFields: Set<String> = []
    }

    /// A link from an answer to the next operation.
    struct Link: Equatable, Sendable {
        /// The `operationId` of the next operation.
        var operation: String
        /// The names of its parameters.
        var parameters: [String]
    }

    /// Parsed once, because it takes as long as hundreds of requests.
    static let known: OpenAPIDescription = {
        do { return try OpenAPIDescription() } catch { preconditionFailure("openapi.yaml cannot be read: \(error)") }
    }()
    /// Every operation, in the order of paths and methods.
    static let all = known.operations.sorted { $0.key < $1.key }.map(\.value)

    /// The common members of every operation.
    let everywhere: Common
    /// The problems of custom endpoints, in addition to `everywhere`.
    let customEndpoints: Common
    /// The operations by method and path, as in `GET /features`.
    var operations: [String: Operation] = [:]

    init() throws {
        let file = try OpenAPIFile()
        func common(_ name: String) -> Common {
            func list(_ member: String) -> Set<String> {
                Set(file.root[name]?[member]?.sequence?.compactMap(\.string) ?? [])
            }
            return Common(
                problems: list("problems"), requestFields: list("parameters"), responseFields: list("headers"))
        }
        everywhere = common("x-everywhere")
        customEndpoints = common("x-custom-endpoints")
        for (path, item) in try #require(file.root["paths"]?.mapping) {
            let path = try #require(path.string)
            let shared = item["parameters"]?.sequence.map(Array.init) ?? []
            for (method, operation) in try #require(item.mapping) {
                let method = try #require(method.string)
                if method == "parameters" { continue }
                let found = Operation(method: method.uppercased(), path: path)
                operations["\(found.method) \(path)"] = try file.describe(found, operation, shared)
            }
        }
    }
}

/// The file `openapi.yaml`.
struct OpenAPIFile {
    let root: Node

    init() throws {
        let file = cresources_openapi_yaml()
        let text = String(decoding: UnsafeBufferPointer(start: file.bytes, count: file.count), as: UTF8.self)
        root = try #require(try Yams.compose(yaml: text))
    }

    fileprivate func describe(
        _ operation: OpenAPIDescription.Operation, _ node: Node, _ shared: [Node]
    ) throws -> OpenAPIDescription.Operation {
        var operation = operation
        operation.id = try #require(node["operationId"]?.string)
        // Operations that also work without a credential are public.
        operation.hasSession =
            node["security"]?.sequence.map { $0.allSatisfy { $0.mapping?.isEmpty == false } } ?? false
        for parameter in shared + (node["parameters"]?.sequence.map(Array.init) ?? []) {
            let parameter = try follow(parameter)
            let name = try #require(parameter["name"]?.string)
            switch parameter["in"]?.string {
            case "query": operation.query.insert(name)
            case "header":
                operation.requestFields.insert(name)
                operation.exampleFields[name] = parameter["example"]?.string
            default: break
            }
        }
        let body = node["requestBody"]?["content"]?["application/json"]
        operation.takesJSON = body != nil
        let examples = body?["examples"]?.mapping?.values.compactMap { $0["value"] } ?? []
        operation.exampleBodies = (examples + [body?["example"]].compactMap { $0 }).map(json)
        for (status, response) in try #require(node["responses"]?.mapping) {
            let status = try #require(status.string)
            let response = try follow(response)
            if status == "default" { continue }
            for (name, field) in response["headers"]?.mapping ?? [:] {
                let name = try #require(name.string)
                operation.responseFields.insert(name)
                if try follow(field)["required"]?.bool == true {
                    operation.requiredFields[status, default: []].insert(name)
                }
            }
            for (_, link) in response["links"]?.mapping ?? [:] {
                let link = try follow(link)
                let parameters = link["parameters"]?.mapping?.keys.compactMap(\.string) ?? []
                operation.links.append(
                    .init(operation: try #require(link["operationId"]?.string), parameters: parameters))
            }
            if let types = try problems(of: response) {
                operation.problems[status] = types
            } else {
                operation.successes.insert(try #require(Int(status)))
                if response["content"] != nil { operation.givesContent = true }
            }
        }
        return operation
    }

    /// The problems that a response lists; nil if it is not a problem.
    func problems(of response: Node) throws -> Set<String>? {
        guard let schema = response["content"]?["application/problem+json"]?["schema"] else { return nil }
        let types = schema["allOf"]?.sequence?.compactMap { $0["properties"]?["type"]?["enum"]?.sequence }.first
        return Set(try #require(types).compactMap(\.string))
    }

    /// A flat value as JSON.
    private func json(_ node: Node) -> String {
        guard let members = node.mapping else {
            return node.bool.map { "\($0)" } ?? node.int.map { "\($0)" } ?? "\"\(node.string ?? "")\""
        }
        return "{" + members.map { "\(json($0.key)):\(json($0.value))" }.joined(separator: ",") + "}"
    }

    func follow(_ node: Node) throws -> Node {
        guard let reference = node["$ref"]?.string else { return node }
        return try #require(
            reference.split(separator: "/").dropFirst().reduce(root as Node?) { $0?[String($1)] },
            "\(reference) leads nowhere")
    }
}
