/// The names that JSON has for values (RFC 8259 section 3).
enum LiteralText {
    static let null: [UInt8] = [UInt8(ascii: "n"), UInt8(ascii: "u"), UInt8(ascii: "l"), UInt8(ascii: "l")]
    static let `true`: [UInt8] = [UInt8(ascii: "t"), UInt8(ascii: "r"), UInt8(ascii: "u"), UInt8(ascii: "e")]
    static let `false`: [UInt8] = [
        UInt8(ascii: "f"), UInt8(ascii: "a"), UInt8(ascii: "l"), UInt8(ascii: "s"), UInt8(ascii: "e"),
    ]

    static func of(_ value: Bool) -> [UInt8] { value ? `true` : `false` }
}
