import MicroHTTP
import Networks

/// Refuses requests whose `Host` is not the server's. With DNS rebinding, a page's name points to this server, so the
/// page is of the same origin and passes the cross-site rule; but its `Host` is still its own name.
struct HostRule: Sendable {
    /// In lower case, without a port; nil if the server's names are unknown.
    private let names: [[UInt8]]?

    /// Allows the public URL's host, or on a loopback address the machine's name; and always loopback names, the
    /// address that the server listens on, and the one at which other nodes reach it.
    init(_ settings: ServerSettings) {
        let isLocal = PeerAddress(settings.host).map(AdminGuard.isLoopback) == true
        guard settings.publicURL != nil || isLocal else {
            names = nil
            return
        }
        let hosts = [settings.publicURL?.host, settings.nodeAddress, NodeAddress.machineName()]
        names = (hosts.compactMap { $0.map { Array($0.lowercased().utf8)[...] } } + [Array(settings.host.utf8)[...]])
            .map { Array(Self.name(in: $0)) }
    }

    /// Allows every name: the admin port has its own checks.
    init() { names = nil }

    func check(_ head: RequestHead) throws(Problem) {
        guard let names, let host = head.fields.bytes(of: "host") else { return }
        let name = Self.name(in: host)
        if Self.loopbackNames.contains(where: { name.isCaselessly($0) }) { return }
        if names.contains(where: { name.isCaselessly($0) }) { return }
        if name.suffix(Self.localSuffix.count).isCaselessly(Self.localSuffix) { return }
        let text = String(decoding: name, as: UTF8.self)
        if let address = PeerAddress(text), AdminGuard.isLoopback(address) || address == head.local { return }
        throw Problem(
            .wrongHost,
            "The request's `Host` is not a name of this server: use the address of its `--public-url`, or a loopback "
                + "name on its machine.")
    }

    private static let loopbackNames = ["localhost", "127.0.0.1", "::1"].map { Array($0.utf8) }
    /// Names in this domain are loopback names (RFC 6761 section 6.3).
    private static let localSuffix = Array(".localhost".utf8)

    /// A host without its port, the brackets of an address, and a trailing dot.
    private static func name(in host: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        if host.first == UInt8(ascii: "[") { return host.dropFirst().prefix { $0 != UInt8(ascii: "]") } }
        // An IPv6 address of the settings has no brackets.
        let colons = host.lazy.filter { $0 == UInt8(ascii: ":") }.prefix(2).count
        let name = colons == 1 ? host.prefix { $0 != UInt8(ascii: ":") } : host
        return name.last == UInt8(ascii: ".") ? name.dropLast() : name
    }
}
