import Locking
import Logging
import MicroHTTP
import Networks
import Sessions

/// Decides which requests the admin port answers beside health: those with the token. Without a token only metrics are
/// answered, and only to programs on this machine, if the port listens on a loopback address.
struct AdminGuard: Sendable {
    enum Rule: Sendable, Equatable {
        case token(AdminToken)
        /// No token: metrics for programs on this machine.
        case metrics
        /// No token, and others can reach the port.
        case closed

        init(_ settings: ServerSettings) {
            if let token = settings.adminToken {
                self = .token(token)
            } else {
                self = PeerAddress(settings.adminHost).map(isLoopback) == true ? .metrics : .closed
            }
        }
    }

    /// The rate of an address's wrong tokens that get 401 and a line in the log: 20 at once, then one a second. The
    /// others get 429.
    private static let wrongTokens = Rate(perSecond: 1, burstSeconds: 20)
    private static let bucketCount = 256
    private static let scheme = Array("bearer".utf8)

    let rule: Rule
    private let time: TimeSource
    private let logger: Logger?
    /// Addresses share buckets; which ones, nobody outside can know.
    private let buckets = Lock([TokenBucket](repeating: TokenBucket(), count: bucketCount))

    init(_ settings: ServerSettings, time: TimeSource, logger: Logger? = nil) {
        (self.time, self.logger) = (time, logger)
        rule = Rule(settings)
    }

    /// An endpoint's function, called for requests with the token.
    func access(
        _ judge: @escaping @Sendable (Incoming) throws(Problem) -> Route.Answer
    ) -> Route.Access {
        .everyone { incoming throws(Problem) in
            guard case .token(let token) = rule else { throw Self.closed }
            try check(incoming.head, token)
            return try judge(incoming)
        }
    }

    /// The same for metrics, which programs on this machine may read without a token.
    func metricsAccess(
        _ judge: @escaping @Sendable (Incoming) throws(Problem) -> Route.Answer
    ) -> Route.Access {
        .everyone { incoming throws(Problem) in
            switch rule {
            case .token(let token): try check(incoming.head, token)
            case .metrics: try checkLocal(incoming.head)
            case .closed: throw Self.closed
            }
            return try judge(incoming)
        }
    }

    private static var closed: Problem {
        Problem(
            .adminClosed,
            "The server has no admin token. Start it with one: `MVI_ADMIN_TOKEN=$(openssl rand -base64 32)`.")
    }

    // MARK: With a token

    private func check(_ head: RequestHead, _ token: AdminToken) throws(Problem) {
        guard let value = head.fields.bytes(of: "authorization"), let space = value.firstIndex(of: 0x20),
            value[..<space].isCaselessly(Self.scheme)
        else {
            throw Problem(.adminUnauthorized, "The request carries no `Authorization: Bearer <token>`.")
        }
        // Compared before anything is counted: no number of wrong tokens keeps the right one out.
        guard !token.matches(value[space...].drop { $0 == 0x20 }) else { return }
        try countWrong(head.peer)
        logger?.warning("A wrong admin token was sent", metadata: ["peer": "\(head.peer)"])
        throw Problem(.adminUnauthorized, "The token is not the server's admin token.")
    }

    private func countWrong(_ peer: PeerAddress) throws(Problem) {
        guard let rate = Self.wrongTokens else { return }
        let now = time.monotonic()
        // Seeded anew in each process.
        let place = Int(UInt(bitPattern: peer.network.hashValue) % UInt(Self.bucketCount))
        let wait = buckets.withLock { $0[place].take(rate, now: now) }
        if let wait {
            throw Problem("admin-tokens", rate, wait, "Too many wrong admin tokens came from your address.")
        }
    }

    // MARK: Without one

    /// Pages that a browser on this machine shows can reach the port as well: none may read metrics, also none that gave its
    /// own name this machine's address (DNS rebinding). A program says neither `Origin` nor `Sec-Fetch-Site`.
    private func checkLocal(_ head: RequestHead) throws(Problem) {
        let fields = head.fields
        guard !fields.contains("origin"), fields["sec-fetch-site"].map({ $0 == "none" }) ?? true else {
            throw Problem(
                .crossSite, "Without an admin token the admin port answers no request that a page in a browser makes.")
        }
        guard !fields.contains("forwarded"), !fields.contains("x-forwarded-for") else {
            throw Problem(
                .adminClosed, "A proxy passed the request on, and without an admin token only this machine may ask.")
        }
        guard fields["host"].map(Self.namesLoopback) ?? false else {
            throw Problem(
                .adminClosed,
                "Without an admin token the admin port is asked as localhost or by its loopback address, not under another "
                    + "name.")
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
