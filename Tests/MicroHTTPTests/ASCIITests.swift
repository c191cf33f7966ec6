import Testing

@testable import MicroHTTP

@Suite struct ASCIITests {
    private static let alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

    @Test func `The byte classes are those of the RFCs`() {
        let token = Set((Self.alphanumeric + "!#$%&'*+-.^_`|~").utf8)
        let host = Set((Self.alphanumeric + "-._~%!$&'()*+,;=:[]").utf8)
        for byte in UInt8.min...UInt8.max {
            #expect(byte.isTokenByte == token.contains(byte))
            #expect(byte.isHostByte == host.contains(byte))
            #expect(byte.isDigit == ("0"..."9" ~= Character(UnicodeScalar(byte))))
            #expect(byte.isValueByte == (byte == 9 || byte >= 32 && byte != 127))
            #expect(byte.lowercased == (65...90 ~= byte ? byte + 32 : byte))
        }
    }
}
