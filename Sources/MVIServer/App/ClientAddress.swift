import MicroHTTP
import Networks

/// Determines the client address of a request, also behind the operator's proxies.
package struct ClientAddress: Sendable {
    /// The trusted proxies.
    let trusted: [AddressRange]

    package init(trusted: [AddressRange]) { self.trusted = trusted }

    /// Returns the client's address. Follows the reported addresses from the peer back to the first one that is not a
    /// trusted proxy.
    func of(_ head: RequestHead) -> PeerAddress { of(head.fields, from: head.peer) }

    package func of(_ fields: HeaderFields, from peer: PeerAddress) -> PeerAddress {
        guard isTrusted(peer), let chain = chain(fields) else { return peer }
        var client = peer
        for hop in chain.reversed() {
            // A hop without an address ends the chain: no trusted proxy confirms the hops before it.
            guard let hop else { break }
            client = hop
            guard isTrusted(hop) else { break }
        }
        return client
    }

    /// True for a trusted proxy. Peers on the Unix socket are: its file's permissions say which programs may connect.
    func isTrusted(_ address: PeerAddress) -> Bool { address == .unix || trusted.contains { $0.contains(address) } }

    /// True if an untrusted proxy forwarded the request: the operator may have forgotten the setting.
    func isPassedOn(_ head: RequestHead) -> Bool {
        !isTrusted(head.peer) && (head.fields.contains("x-forwarded-for") || head.fields.contains("forwarded"))
    }

    /// The use of the client address in `X-Forwarded-For` or `Forwarded`.
    enum Noted: String, Sendable {
        /// The peer is not a trusted proxy, and the request has neither field.
        case none
        /// A trusted proxy sent the request without an address.
        case missing
        /// The request has an address, but its peer is not trusted.
        case untrusted
        /// A trusted proxy sent the request, but the fields are malformed or contradict each other.
        case unclear
        /// A trusted proxy reported the address, and the server uses it.
        case used
    }

    /// Returns the use of the address that proxies reported.
    func noted(_ head: RequestHead) -> Noted {
        let isNoted = head.fields.contains("x-forwarded-for") || head.fields.contains("forwarded")
        guard isTrusted(head.peer) else { return isNoted ? .untrusted : .none }
        guard isNoted else { return .missing }
        guard let last = chain(head.fields)?.last, last != nil else { return .unclear }
        return .used
    }

    /// The addresses that proxies reported, the client's first; nil for a malformed one. Nil without addresses, or if
    /// the two fields differ: a proxy that writes only one of them forwards the other as the client sent it.
    private func chain(_ fields: HeaderFields) -> [PeerAddress?]? {
        let xForwardedFor = Self.list(fields.list(of: "x-forwarded-for")).map { Self.address($0) }
        let forwarded = Self.list(fields.list(of: "forwarded")).map { Self.forwardedFor($0) }
        if forwarded.isEmpty { return xForwardedFor.isEmpty ? nil : xForwardedFor }
        return xForwardedFor.isEmpty || xForwardedFor == forwarded ? forwarded : nil
    }

    /// The last hops; no real chain of proxies is longer.
    private static func list(_ value: ArraySlice<UInt8>) -> [Substring] {
        value.split(separator: UInt8(ascii: ",")).suffix(16).map { Substring(String(decoding: $0, as: UTF8.self)) }
    }

    /// Parses an address with or without a port or brackets.
    private static func address(_ text: Substring) -> PeerAddress? {
        let text = text.drop { $0 == " " || $0 == "\t" || $0 == "\"" }.prefix { !" \t\"".contains($0) }
        if text.first == "[" { return PeerAddress(text.dropFirst().prefix { $0 != "]" }) }
        if let address = PeerAddress(text) { return address }
        return PeerAddress(text.prefix { $0 != ":" })
    }

    /// Parses the `for` of one hop: `for=192.0.2.1;proto=https`, `for="[2001:db8::1]:4711"` (RFC 7239 section 4).
    private static func forwardedFor(_ hop: Substring) -> PeerAddress? {
        for pair in hop.split(separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].filter({ $0 != " " }).lowercased() == "for" else { continue }
            return address(parts[1])
        }
        return nil
    }
}
