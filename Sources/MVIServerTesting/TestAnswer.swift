import MVIClient
import WireJSON

/// A server's answer to a request.
public struct TestAnswer: Sendable, CustomStringConvertible {
    private struct Problem: Decodable {
        var code: String?
        var detail: String?
        var title: String?
    }

    /// The status.
    public let status: Int
    /// The header fields; names are in lower case.
    public let fields: [String: String]
    /// The body.
    public let body: [UInt8]

    init(_ answer: PlainClient.Answer) { (status, fields, body) = (answer.status, answer.fields, answer.body) }

    /// The body as text; what is not UTF-8 becomes U+FFFD.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The code of a feature's or an endpoint's refusal; nil for another answer.
    public var code: String? { problem?.code }

    private var problem: Problem? { try? WireJSON.decode(Problem.self, from: body) }

    /// Returns the decoded body, in the JSON format of the wire.
    ///
    /// - Throws: ``TestServerError`` if it cannot be decoded.
    public func decode<T: Decodable>(_ type: T.Type) throws(TestServerError) -> T {
        do throws(WireDecodingError) {
            return try WireJSON.decode(type, from: body)
        } catch {
            throw TestServerError("The answer is not a \(type): \(error). It is: \(self)")
        }
    }

    /// The status, code and detail of a refusal; otherwise status and body.
    public var description: String {
        guard status >= 400, let problem else { return "\(status) \(text)" }
        return [String(status), problem.code, problem.detail ?? problem.title].compactMap(\.self).joined(separator: " ")
    }
}

/// An error of a test's server or of its client.
public struct TestServerError: Error, Sendable, CustomStringConvertible {
    /// The cause and a remedy.
    public let description: String

    init(_ description: String) { self.description = description }
}
