import MicroHTTP
import Networks

/// Finds out which address a request came from, also through proxies of the operator's.
struct ClientAddress: Sendable {
    /// Proxies whose word is taken.
    let trusted: [AddressRange]

    /// Returns the client's address: forwarding headers count from the peer back to the first proxy that is not
    /// trusted.
    func of(_ head: RequestHead) -> PeerAddress {
        guard isTrusted(head.peer), let chain = chain(head.fields) else { return head.peer }
        var client = head.peer
        for hop in chain.reversed() {
            // A hop that hides its address: no trusted proxy vouches for the hops before it.
            guard let hop else { break }
            client = hop
            guard isTrusted(hop) else { break }
        }
        return client
    }

    func isTrusted(_ address: PeerAddress) -> Bool { trusted.contains { $0.contains(address) } }

    /// Returns true if a request was passed on by a proxy that is not trusted: the operator may have forgotten the setting.
    func isPassedOn(_ head: RequestHead) -> Bool {
        !isTrusted(head.peer) && (head.fields.contains("x-forwarded-for") || head.fields.contains("forwarded"))
    }

    /// The use of the client's address in `X-Forwarded-For` or `Forwarded`.
    enum Noted: String, Sendable {
        /// No trusted proxy sent the request, and it has neither field.
        case none
        /// A trusted proxy sent the request and noted nothing.
        case missing
        /// It is noted, and who sent the request is not trusted.
        case untrusted
        /// A trusted proxy sent the request, and the fields cannot be read or contradict each other.
        case unclear
        /// A trusted proxy noted it, and the request counts for it.
        case used
    }

    /// Returns the use of the client's address that proxies noted.
    func noted(_ head: RequestHead) -> Noted {
        let isNoted = head.fields.contains("x-forwarded-for") || head.fields.contains("forwarded")
        guard isTrusted(head.peer) else { return isNoted ? .untrusted : .none }
        guard isNoted else { return .missing }
        guard let last = chain(head.fields)?.last, last != nil else { return .unclear }
        return .used
    }

    /// The addresses that proxies noted, the client's first; nil where an address cannot be read. Nil if there are none, or if
    /// the two fields say different things: a proxy that writes only one of them passes the other on as the client sent
    /// it.
    private func chain(_ fields: HeaderFields) -> [PeerAddress?]? {
        let xForwardedFor = Self.list(fields.list(of: "x-forwarded-for")).map { Self.address($0) }
        let forwarded = Self.list(fields.list(of: "forwarded")).map { Self.forwardedFor($0) }
        if forwarded.isEmpty { return xForwardedFor.isEmpty ? nil : xForwardedFor }
        return xForwardedFor.isEmpty || xForwardedFor == forwarded ? forwarded : nil
    }

    /// The last hops: no chain of proxies is as long.
    private static func list(_ value: ArraySlice<UInt8>) -> [Substring] {
        value.split(separator: UInt8(ascii: ",")).suffix(16).map { Substring(String(decoding: $0, as: UTF8.self)) }
    }

    /// An address with or without a port, in brackets or not.
    private static func address(_ text: Substring) -> PeerAddress? {
        let text = text.drop { $0 == " " || $0 == "\t" || $0 == "\"" }.prefix { !" \t\"".contains($0) }
        if text.first == "[" { return PeerAddress(text.dropFirst().prefix { $0 != "]" }) }
        if let address = PeerAddress(text) { return address }
        return PeerAddress(text.prefix { $0 != ":" })
    }

    /// The `for` of one hop: `for=192.0.2.1;proto=https`, `for="[2001:db8::1]:4711"` (RFC 7239 section 4).
    private static func forwardedFor(_ hop: Substring) -> PeerAddress? {
        for pair in hop.split(separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].filter({ $0 != " " }).lowercased() == "for" else { continue }
            return address(parts[1])
        }
        return nil
    }
}
