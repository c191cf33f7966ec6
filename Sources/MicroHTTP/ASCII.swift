/// The byte classes of RFC 9110 and RFC 3986 that a request's head is checked against.
extension UInt8 {
    @inline(__always)
    var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

    /// `tchar` of RFC 9110 section 5.6.2: what names and methods are made of.
    var isTokenByte: Bool { UInt8.tokenBytes[Int(self)] }

    /// What a host and its port may be made of, RFC 3986 section 3.2.2, brackets of an IPv6 literal included.
    var isHostByte: Bool { UInt8.hostBytes[Int(self)] }

    var isDigit: Bool { self &- 0x30 < 10 }

    var isBlank: Bool { self == 0x20 || self == 0x09 }

    private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    private static let tokenBytes = table(letters + "!#$%&'*+-.^_`|~")
    private static let hostBytes = table(letters + "-._~%!$&'()*+,;=:[]")

    private static func table(_ members: String) -> [Bool] {
        var table = [Bool](repeating: false, count: 256)
        for byte in members.utf8 { table[Int(byte)] = true }
        return table
    }
}
