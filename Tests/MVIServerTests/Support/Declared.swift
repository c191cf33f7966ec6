@testable import MVIServer

/// What a client may see of an operation. `openapi.yaml` says the same for people and generators; tests hold the two
/// against each other, and every answer of the tests against this table.
struct Declared: Sendable {
    var method: Route.Method
    let path: String
    let operation: Operation
    var hasSession = false
    /// Query parameters that are read; others are ignored.
    var query: [String] = []
    /// Request fields that are read, beside those of `Everywhere`.
    var requestFields: [String] = []
    /// The statuses of success.
    let successes: [Int]
    /// The problems it may answer, beside those of `Everywhere`.
    var problems: [ProblemType] = []
    /// The fields of its answers, beside those of `Everywhere`.
    var responseFields: [String] = []

    /// The `operationId`. `HEAD` has its `GET`'s, `OPTIONS` that of its path's first operation, with their own name behind.
    var id: String {
        switch method {
        case .head: return "\(operation.rawValue)Head"
        case .options:
            let first = Self.table.first { $0.path == path }
            return "\((first ?? self).operation.rawValue)Options"
        default: return operation.rawValue
        }
    }

    /// What holds for every operation.
    enum Everywhere {
        /// Problems that the HTTP layer finds before any endpoint is looked for.
        static let problems: [ProblemType] = [
            .badRequest, .requestTimeout, .bodyTooLarge, .wrongHost, .tooManyConnections, .headTooLarge,
            .unknownTransferCoding,
            .busy, .draining,
        ]
        /// Fields of every answer, the last two where the request's `Origin` is on the list.
        static let responseFields = [
            "Cache-Control", "Vary", "X-Content-Type-Options", "Cross-Origin-Resource-Policy",
            "Access-Control-Allow-Origin", "Access-Control-Expose-Headers",
        ]
        static let requestFields = ["Origin"]
    }

    /// What holds for the endpoints of a server's author, beside `Everywhere`.
    enum CustomEndpoints {
        static let problems: [ProblemType] = [
            .invalidJSON, .crossSite, .forbidden, .featureNotFound, .targetNotFound, .sessionEnded, .intentConflict,
            .invalidBody, .intentRefused, .tooManyRequests, .endpointFailed, .journalUnavailable, .ownerUnreachable,
            .newerState, .storageFull,
        ]
    }
}
