#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A host and a port of a node: `10.0.0.3:8080`, `[fd00::3]:8080`, `node-3.example:8080`.
enum NodeAddress {
    /// Returns true if a text is a well-formed address.
    static func isWellFormed(_ text: String) -> Bool {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0,
            text.utf8.count <= 300
        else { return false }
        let host = text[..<colon]
        let (inner, letters) =
            host.first == "[" && host.last == "]"
            ? (host.dropFirst().dropLast(), "0123456789abcdefABCDEF:.")
            : (host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")
        return !inner.isEmpty && inner.allSatisfy { letters.contains($0) }
    }

    /// Returns the address of a server that listens on a host; with the machine's name if it listens on every
    /// interface.
    static func of(host: String, port: UInt16, machine: () -> String = machineName) -> String {
        let isAny = host.allSatisfy { "0:.".contains($0) }
        let host = isAny ? machine() : host
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// The machine's name, as printed by `hostname`.
    static func machineName() -> String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(validating: bytes, as: UTF8.self) ?? "localhost"
    }
}
