/// A route as it is declared: what is needed to dispatch to it, and all that a client may see of it.
///
/// `openapi.yaml` says the same for people and generators; a test holds the two against each other, both ways, and
/// another holds every answer of the tests against this table.
struct Route: Sendable {
    /// Whose request is answered.
    enum Access: Sendable {
        case everyone
        case session
    }

    var method: Method
    /// `/features/{id}/state`: at most one parameter, which is a whole segment.
    private(set) var path: String
    let operation: Operation
    var access = Access.everyone
    /// Query parameters that are read; others are ignored.
    var query: [String] = []
    /// Request fields that are read, beside those of `Route.everywhere`.
    var requestFields: [String] = []
    /// The statuses of success.
    let successes: [Int]
    /// The problems it may answer, beside those of `Route.everywhere`.
    var problems: [ProblemType] = []
    /// The fields of its answers, beside those of `Route.everywhere`.
    var responseFields: [String] = []

    /// The same at another path.
    func moved(to path: String) -> Route {
        var route = self
        route.path = path
        return route
    }

    /// What holds for every route.
    enum Everywhere {
        /// Problems that the HTTP layer finds before any route is looked for.
        static let problems: [ProblemType] = [
            .badRequest, .requestTimeout, .bodyTooLarge, .headTooLarge, .unknownTransferCoding, .busy, .draining,
        ]
        /// Fields of every answer, the last four where the request's `Origin` is on the list.
        static let responseFields = [
            "Cache-Control", "Vary", "X-Content-Type-Options",
            "Access-Control-Allow-Origin", "Access-Control-Expose-Headers",
        ]
        static let requestFields = ["Origin"]
    }
}
