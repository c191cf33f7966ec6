import MicroHTTP
import Networks

/// A range of IP addresses with the same first bits, as `10.0.0.0/8` or `2001:db8::/32`, or one address without `/`.
public struct AddressRange: Sendable, Hashable, CustomStringConvertible {
    private let first: PeerAddress
    private let bits: Int

    /// Creates a range from its text; nil if the text is malformed or has bits beyond the prefix length.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first.flatMap({ PeerAddress($0) }) else { return nil }
        let most = first.isV4 ? 32 : 128
        guard parts.count <= 2, let bits = parts.count == 2 ? Int(parts[1]) : most, 0...most ~= bits else { return nil }
        var shortened = first
        shortened.keepFirst(bits: bits)
        guard shortened == first else { return nil }
        (self.first, self.bits) = (first, bits)
    }

    /// Returns true if the range contains an address.
    func contains(_ address: PeerAddress) -> Bool {
        guard address.isV4 == first.isV4, address != .unknown else { return false }
        var address = address
        address.keepFirst(bits: bits)
        return address == first
    }

    /// True if the range has more than 256 IPv4 addresses, or more than one network of IPv6.
    var isWide: Bool { bits < (first.isV4 ? 24 : 64) }

    /// True if the range has a loopback address.
    var meetsLoopback: Bool {
        AdminGuard.isLoopback(first) || ["127.0.0.1", "::1"].contains { PeerAddress($0).map(contains) == true }
    }

    public var description: String { bits == (first.isV4 ? 32 : 128) ? "\(first)" : "\(first)/\(bits)" }
}
