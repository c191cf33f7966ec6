import Glibc

extension PeerAddress {
    /// An address from its text: `192.0.2.1` or `2001:db8::1`; nil for everything else, names included.
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

    /// The addresses that one user has: an IPv4 address, or the 64 bits of an IPv6 one that a network's owner gives out.
    package var network: PeerAddress { first(bits: isV4 ? 32 : 64) }

    /// The networks that it lies in, the widest first: those of 48, 56 and 64 bits, which owners of IPv6 networks are given
    /// (RFC 6177), or an IPv4 address by itself. None of an unknown address.
    package var networks: [PeerAddress] {
        if self == .unknown { return [] }
        return isV4 ? [self] : [48, 56, 64].map { first(bits: $0) }
    }

    private func first(bits: Int) -> PeerAddress {
        var network = self
        network.keepFirst(bits: bits)
        return network
    }
}
