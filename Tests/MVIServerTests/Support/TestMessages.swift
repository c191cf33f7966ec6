import Testing
import WireJSON

/// A request as a client writes it.
struct TestRequest: Sendable {
    var method: String
    /// The path and query, sent unchanged.
    var target: String
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []

    init(_ method: String, _ target: String, _ fields: [(name: String, value: String)] = [], body: String = "") {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = Array(body.utf8)
    }

    func with(_ name: String, _ value: String) -> TestRequest {
        var request = self
        request.fields.append((name, value))
        return request
    }
}

/// A response as a client reads it.
struct TestResponse: Sendable {
    struct Problem: Decodable, Sendable {
        struct Issue: Decodable, Sendable, Equatable {
            var pointer: String
            var detail: String
        }

        var type: String
        var title: String
        var status: Int
        var detail: String
        var code: String?
        var instance: String?
        var errors: [Issue]?
    }

    var status: Int
    var fields: [(name: String, value: String)]
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The first field with a name.
    subscript(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    func json<Value: Decodable>(_ type: Value.Type) throws -> Value { try WireJSON.decode(type, from: body) }

    /// The problem's name; nil without a problem.
    var problem: String? {
        guard self["content-type"] == "application/problem+json", let problem = try? json(Problem.self) else {
            return nil
        }
        return String(problem.type.dropFirst("/problems/".count))
    }
}
