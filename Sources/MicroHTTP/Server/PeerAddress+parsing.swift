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
    package var network: PeerAddress {
        var network = self
        network.keepFirst(bits: isV4 ? 32 : 64)
        return network
    }
}
