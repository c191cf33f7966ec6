import Glibc

/// A peer's IP address, stored as bytes; text is created on demand. Peers on a Unix socket have one address together.
package struct PeerAddress: Hashable, Sendable, CustomStringConvertible {
    private enum Family { case unknown, unix, v4, v6 }
    private var family = Family.unknown
    private var high: UInt64 = 0
    private var low: UInt64 = 0

    /// No address, for a request without a socket.
    package static let unknown = PeerAddress()

    /// The address of all peers on a Unix socket.
    package static let unix: PeerAddress = {
        var address = PeerAddress()
        address.family = .unix
        return address
    }()

    private init() {}

    /// An IPv4 address, the first byte most significant.
    package init(v4: UInt32) {
        family = .v4
        low = UInt64(v4)
    }

    /// An IPv6 address, or the IPv4 address that it maps, ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2), as on sockets that
    /// listen on both.
    package init(_ address: in6_addr) {
        (high, low) = withUnsafeBytes(of: address) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
        family = high == 0 && low >> 32 == 0xFFFF ? .v4 : .v6
        if family == .v4 { low &= 0xFFFF_FFFF }
    }

    /// The text of an IP address; nil for other peers.
    package var ipText: String? { family == .v4 || family == .v6 ? description : nil }

    package var isV4: Bool { family == .v4 }

    /// Clears all bits except the first ones.
    package mutating func keepFirst(bits: Int) {
        func mask(_ bits: Int) -> UInt64 { bits <= 0 ? 0 : .max << UInt64(64 - min(bits, 64)) }
        if isV4 { return low &= mask(bits) >> 32 }
        high &= mask(bits)
        low &= mask(bits - 64)
    }

    /// `192.0.2.1`, `2001:db8::1` (RFC 5952), `unix` or `unknown`.
    package var description: String {
        switch family {
        case .unknown: return "unknown"
        case .unix: return "unix"
        case .v4: return "\(low >> 24 & 255).\(low >> 16 & 255).\(low >> 8 & 255).\(low & 255)"
        case .v6:
            var address = in6_addr()
            withUnsafeMutableBytes(of: &address) { bytes in
                bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
                bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
                guard
                    let text = text.baseAddress,
                    inet_ntop(AF_INET6, &address, text, socklen_t(INET6_ADDRSTRLEN)) != nil
                else { return "unknown" }
                return String(cString: text)
            }
        }
    }
}
