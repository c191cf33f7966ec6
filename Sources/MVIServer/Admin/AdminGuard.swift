import Locking
import Logging
import MicroHTTP
import Networks
import Sessions

/// Lets requests with the admin token through to the admin port. Without a token only metrics are answered, and only to
/// programs on this machine, if the port listens on a loopback address; and the inspector's requests with its own token.
struct AdminGuard: Sendable {
    enum Rule: Sendable, Equatable {
        case token(AdminToken)
        /// The token that the server made for the inspector, valid for its requests only; metrics as without one.
        case inspector(AdminToken)
        /// No token: only programs on this machine get metrics.
        case metrics
        /// No token, and other machines can reach the port.
        case closed

        init(_ settings: ServerSettings) {
            if let token = settings.adminToken {
                self = .token(token)
            } else if let token = settings.inspectorToken.flatMap({ AdminToken($0) }) {
                self = .inspector(token)
            } else {
                self = PeerAddress(settings.adminHost).map(isLoopback) == true ? .metrics : .closed
            }
        }
    }

    /// The rate of wrong tokens of an address that get a 401 and a log line: 20 at once, then one per second. The
    /// others get a 429.
    private static let wrongTokens = Rate(perSecond: 1, burstSeconds: 20)
    private static let bucketCount = 256
    private static let scheme = Array("bearer".utf8)

    let rule: Rule
    private let time: TimeSource
    private let logger: Logger?
    /// Addresses share buckets. The assignment is not predictable from outside.
    private let buckets = Lock([TokenBucket](repeating: TokenBucket(), count: bucketCount))

    init(_ settings: ServerSettings, time: TimeSource, logger: Logger? = nil) {
        (self.time, self.logger) = (time, logger)
        rule = Rule(settings)
    }

    /// Wraps an endpoint's function for requests with the token.
    ///
    /// - Parameter forInspector: true if the inspector's own token suffices.
    func access(
        forInspector: Bool = false, _ judge: @escaping @Sendable (Incoming) throws(Problem) -> Route.Answer
    ) -> Route.Access {
        .everyone { incoming throws(Problem) in
            switch rule {
            case .token(let token): try check(incoming.head, token)
            case .inspector(let token) where forInspector: try check(incoming.head, token)
            case .metrics, .inspector, .closed: throw Self.closed
            }
            return try judge(incoming)
        }
    }

    /// Wraps the metrics endpoint, which programs on this machine may read without a token.
    func metricsAccess(
        _ judge: @escaping @Sendable (Incoming) throws(Problem) -> Route.Answer
    ) -> Route.Access {
        .everyone { incoming throws(Problem) in
            switch rule {
            case .token(let token): try check(incoming.head, token)
            case .metrics, .inspector: try checkLocal(incoming.head)
            case .closed: throw Self.closed
            }
            return try judge(incoming)
        }
    }

    private static var closed: Problem {
        Problem(
            .adminClosed,
            "The server has no admin token. Set one: `MVI_ADMIN_TOKEN=$(openssl rand -base64 32)`.")
    }

    // MARK: With a token

    private func check(_ head: RequestHead, _ token: AdminToken) throws(Problem) {
        try check(
            head, token.matches, "A wrong admin token was sent", "The token is not the server's admin token.")
    }

    /// Takes the code of the inspector's link.
    func checkCode(_ head: RequestHead, _ link: InspectorLink) throws(Problem) {
        try check(
            head, { link.take($0, now: time.monotonic()) }, "A code was sent that is not the inspector's link's",
            "The link was opened before, or is older than ten minutes. `curl -X POST` on `/admin/inspector/link`, at this "
                + "address and on this machine, writes another one into the file of the server's log.")
    }

    private func check(
        _ head: RequestHead, _ isRight: (ArraySlice<UInt8>) -> Bool, _ warning: Logger.Message, _ refusal: String
    ) throws(Problem) {
        guard let value = head.fields.bytes(of: "authorization"), let space = value.firstIndex(of: 0x20),
            value[..<space].isCaselessly(Self.scheme)
        else {
            throw Problem(.adminUnauthorized, "The request carries no `Authorization: Bearer <token>`.")
        }
        // Compared before counting: wrong tokens cannot lock out the right one.
        guard !isRight(ArraySlice(value[space...].drop { $0 == 0x20 })) else { return }
        try countWrong(head.peer)
        logger?.warning(warning, metadata: ["peer": "\(head.peer)"])
        throw Problem(.adminUnauthorized, refusal)
    }

    private func countWrong(_ peer: PeerAddress) throws(Problem) {
        guard let rate = Self.wrongTokens else { return }
        let now = time.monotonic()
        // The hash seed is random in each process.
        let place = Int(UInt(bitPattern: peer.network.hashValue) % UInt(Self.bucketCount))
        let wait = buckets.withLock { $0[place].take(rate, now: now) }
        if let wait {
            throw Problem("admin-tokens", rate, wait, "Too many wrong admin tokens came from your address.")
        }
    }

    // MARK: Without one

    /// Refuses requests of web pages: browsers on this machine can reach the port, also under a page's own name (DNS
    /// rebinding). Programs send neither `Origin` nor `Sec-Fetch-Site`.
    func checkLocal(_ head: RequestHead) throws(Problem) {
        let fields = head.fields
        guard !fields.contains("origin"), fields["sec-fetch-site"].map({ $0 == "none" }) ?? true else {
            throw Problem(
                .crossSite, "Without an admin token, the admin port refuses requests of web pages.")
        }
        guard !fields.contains("forwarded"), !fields.contains("x-forwarded-for") else {
            throw Problem(
                .adminClosed, "Without an admin token, the admin port refuses requests through a proxy.")
        }
        guard fields["host"].map(Self.namesLoopback) ?? false else {
            throw Problem(
                .adminClosed,
                "Without an admin token, the admin port accepts only localhost or its loopback address as `Host`.")
        }
    }

    /// Returns true if a `Host` is `localhost` or a loopback address, with or without a port.
    static func namesLoopback(_ host: String) -> Bool {
        if host.first == "[" {
            let address = host.dropFirst().prefix { $0 != "]" }
            guard host.dropFirst(address.count + 1).first == "]" else { return false }
            return isPort(host.dropFirst(address.count + 2)) && PeerAddress(address).map(isLoopback) == true
        }
        let name = host.prefix { $0 != ":" }
        guard isPort(host.dropFirst(name.count)) else { return false }
        return name.lowercased() == "localhost" || PeerAddress(name).map(isLoopback) == true
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty || text.first == ":" && text.dropFirst().utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    static func isLoopback(_ address: PeerAddress) -> Bool { loopback.contains { $0.contains(address) } }

    private static let loopback = ["127.0.0.0/8", "::1"].compactMap { AddressRange($0) }
}
