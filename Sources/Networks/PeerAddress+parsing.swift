import Glibc

extension PeerAddress {
    /// Parses `192.0.2.1` or `2001:db8::1`; nil for everything else, including names.
    package init?(_ text: some StringProtocol) {
        let text = String(text)
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            self.init(v4: UInt32(bigEndian: v4.s_addr))
            return
        }
        var v6 = in6_addr()
        guard inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
        self.init(v6)
    }

    /// The addresses of one user: an IPv4 address, or a network of 64 bits in IPv6.
    package var network: PeerAddress { first(bits: isV4 ? 32 : 64) }

    /// The networks that contain it, widest first: 48, 56 and 64 bits, the sizes that owners of IPv6 networks receive
    /// (RFC 6177), or an IPv4 address as a whole. Empty for an unknown address.
    package var networks: [PeerAddress] {
        if self == .unknown { return [] }
        return isV4 || self == .unix ? [self] : [48, 56, 64].map { first(bits: $0) }
    }

    private func first(bits: Int) -> PeerAddress {
        var network = self
        network.keepFirst(bits: bits)
        return network
    }
}
