import Locking
import Logging
import MicroHTTP
import Sessions

/// Who may ask the admin port for more than health: whoever has the token. Without a token whoever is on this machine, if the
/// port listens on a loopback address, and nobody if it does not.
struct AdminGuard: Sendable {
    enum Rule: Sendable, Equatable {
        case token(AdminToken)
        /// No token: this machine only.
        case loopback
        /// No token, and others can reach the port.
        case closed

        init(_ settings: ServerSettings) {
            if let token = settings.adminToken {
                self = .token(token)
            } else {
                self = PeerAddress(settings.adminHost).map(isLoopback) == true ? .loopback : .closed
            }
        }
    }

    /// How many wrong tokens an address may send: 20 at once, then one a second.
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

    /// An endpoint's function, called for those who may ask.
    func access(
        _ judge: @escaping @Sendable (Incoming) throws(Problem) -> Route.Answer
    ) -> Route.Access {
        .everyone { incoming throws(Problem) in
            try check(incoming.head)
            return try judge(incoming)
        }
    }

    func check(_ head: RequestHead) throws(Problem) {
        switch rule {
        case .closed:
            throw Problem(
                .adminClosed,
                "The server has no admin token, and its admin port listens on an address that others reach.")
        case .loopback: try checkLocal(head)
        case .token(let token): try check(head, token)
        }
    }

    // MARK: With a token

    private func check(_ head: RequestHead, _ token: AdminToken) throws(Problem) {
        guard let value = head.fields.bytes(of: "authorization"), let space = value.firstIndex(of: 0x20),
            value[..<space].isCaselessly(Self.scheme)
        else {
            throw Problem(.adminUnauthorized, "The request carries no `Authorization: Bearer <token>`.")
        }
        // Before the token is looked at: to guess is slow, also for one who guesses right.
        try countWrong(head.peer, isPreview: true)
        guard token.matches(value[space...].drop { $0 == 0x20 }) else {
            logger?.warning("A wrong admin token was sent", metadata: ["peer": "\(head.peer)"])
            try countWrong(head.peer, isPreview: false)
            throw Problem(.adminUnauthorized, "The token is not the server's admin token.")
        }
    }

    /// - Parameter isPreview: only asks whether another one may be sent.
    private func countWrong(_ peer: PeerAddress, isPreview: Bool) throws(Problem) {
        guard let rate = Self.wrongTokens else { return }
        let now = time.monotonic()
        // Seeded anew in each process.
        let place = Int(UInt(bitPattern: peer.network.hashValue) % UInt(Self.bucketCount))
        let wait = buckets.withLock { buckets in
            var bucket = buckets[place]
            let wait = bucket.take(rate, now: now)
            if !isPreview { buckets[place] = bucket }
            return wait
        }
        if let wait {
            throw Problem("admin-tokens", rate, wait, "Too many wrong admin tokens came from your address.")
        }
    }

    // MARK: Without one

    /// Pages that a browser on this machine shows can reach the port as well: none may act here, also none that gave its own
    /// name this machine's address (DNS rebinding). A program says neither `Origin` nor `Sec-Fetch-Site`.
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

    /// Whether a `Host` is `localhost` or a loopback address, with or without a port.
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
