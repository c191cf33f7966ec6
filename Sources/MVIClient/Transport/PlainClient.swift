#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Locking

/// Sends single requests for tests of a server. Each is sent once, and its answer is returned unchanged.
package final class PlainClient: Sendable {
    package typealias Fields = [(name: String, value: String)]

    /// An answer with its body; for a stream, without a body.
    package struct Answer: Sendable {
        package let status: Int
        /// The fields, with names in lower case.
        package let fields: [String: String]
        package fileprivate(set) var body: [UInt8] = []
    }

    /// A piece of a stream, delivered from any thread, one call at a time.
    package enum Piece: Sendable { case bytes([UInt8]), end }

    private let transport: URLSessionTransport
    private let count = Lock<UInt64>(0)

    package init(_ url: URL) { transport = URLSessionTransport(base: url) }

    deinit { transport.close() }

    /// Sends a request and returns its answer. If `stream` is given and the status is 200, returns after the head.
    ///
    /// - Throws: `RemoteError` if there is no answer.
    package func send(
        _ method: String, _ target: String, _ fields: Fields = [], body: [UInt8] = [],
        stream: (@Sendable (Piece) -> Void)? = nil
    ) async throws -> Answer {
        let id = count.withLock { count in
            count += 1
            return ExchangeID(number: count)
        }
        let request = HTTPRequest(
            method: method, target: target, fields: fields.map { HTTPField($0.name, $0.value) }, body: body)
        let head = Lock<Answer?>(nil)
        return try await withCheckedThrowingContinuation { continuation in
            transport.start(id, request) { event in
                switch event {
                case .head(let found):
                    let answer = Answer(status: found.status, fields: found.fields)
                    head.withLock { $0 = answer }
                    if stream != nil, answer.status == 200 { continuation.resume(returning: answer) }
                case .bytes(let bytes):
                    if let stream, head.withLock({ $0?.status }) == 200 { return stream(.bytes(bytes)) }
                    head.withLock { $0?.body += bytes }
                case .end(let failure):
                    let answer = head.withLock { $0 }
                    if let stream, answer?.status == 200 { return stream(.end) }
                    if let answer, failure == nil { return continuation.resume(returning: answer) }
                    continuation.resume(
                        throwing: RemoteError(.gaveUp, "\(method) \(target): \(failure?.message ?? "no answer")"))
                }
            }
        }
    }
}
