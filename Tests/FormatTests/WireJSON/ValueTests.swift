import Testing
import WireJSON

@Suite("Scalars, read and written exactly")
struct ValueTests {
    private func roundTrips<T: Codable & Equatable>(_ value: T, _ json: String) throws {
        #expect(try encoded(value) == json)
        #expect(try decoded(T.self, json) == value)
        #expect(try encoded([value]) == "[\(json)]")
        #expect(try decoded([T].self, "[\(json)]") == [value])
        #expect(try encoded(["m": value]) == "{\"m\":\(json)}")
        #expect(try decoded([String: T].self, "{\"m\":\(json)}") == ["m": value])
    }

    private func holdsBounds<T: FixedWidthInteger & Codable>(_ type: T.Type) throws {
        for value in [T.min, T.min + 1, 0, 1, 9, 10, 99, 100, T.max - 1, T.max] {
            try roundTrips(value, "\(value)")
        }
        let expected = "expected an integer from \(T.min) to \(T.max)"
        let above = "\(UInt128(T.max.magnitude) + 1)"
        let below = T.min == 0 ? "-1" : "-\(UInt128(T.min.magnitude) + 1)"
        for text in [above, below, above + "0", below + "0", "1e50", "-1e50", "1e99999999999999999999"] {
            #expect(try issue(type, text) == .init(pointer: "", detail: expected), "\(text)")
        }
    }

    @Test("integers of every width hold their bounds")
    func integers() throws {
        try holdsBounds(Int.self)
        try holdsBounds(Int8.self)
        try holdsBounds(Int16.self)
        try holdsBounds(Int32.self)
        try holdsBounds(Int64.self)
        try holdsBounds(UInt.self)
        try holdsBounds(UInt8.self)
        try holdsBounds(UInt16.self)
        try holdsBounds(UInt32.self)
        try holdsBounds(UInt64.self)
    }

    @Test("integers of 128 bits")
    func wideIntegers() throws {
        for value in [Int128.min, -1, 0, Int128(UInt64.max) + 1, .max] { try roundTrips(value, "\(value)") }
        try roundTrips(UInt128.max, "\(UInt128.max)")
        #expect(throws: WireDecodingError.self) { try decoded(UInt128.self, "-1") }
        #expect(throws: WireDecodingError.self) { try decoded(UInt128.self, "\(UInt128.max)0") }
    }

    @Test("members that may be nil, of every type: absent, null, there, and there with another value")
    func optionalMembers() throws {
        struct All: Codable, Equatable {
            var b: Bool?, s: String?, d: Double?, f: Float?, i: Int?, i8: Int8?, i16: Int16?, i32: Int32?, i64: Int64?
            var u: UInt?, u8: UInt8?, u16: UInt16?, u32: UInt32?, u64: UInt64?, i128: Int128?, u128: UInt128?, l: [Int]?
        }
        let full = All(
            b: true, s: "x", d: 1.5, f: 2.5, i: .min, i8: .min, i16: .min, i32: .min, i64: .min, u: .max, u8: .max,
            u16: .max, u32: .max, u64: .max, i128: .min, u128: .max, l: [1])
        #expect(try decoded(All.self, encoded(full)) == full)
        let names = Mirror(reflecting: full).children.compactMap(\.label)
        let nulls = "{" + names.map { "\"\($0)\":null" }.joined(separator: ",") + "}"
        #expect(try decoded(All.self, nulls) == All())
        #expect(try decoded(All.self, "{}") == All())
        for name in names { #expect(try issue(All.self, "{\"\(name)\":{}}").pointer == "/\(name)") }
        #expect(try issue(All.self, #"{"u8":256}"#).detail == "expected an integer from 0 to 255")
    }

    @Test(
        "an integer may be written with a fraction of zeros or an exponent",
        arguments: [
            ("1.0", 1), ("1e2", 100), ("-1.50e1", -15), ("100e-2", 1), ("0.0", 0), ("-0", 0), ("-0.0e5", 0),
            ("0e99999999999999999999", 0), ("123456789.000000000000000000000000000", 123_456_789),
            ("0.0000000000000000000000000000000000000000012e43", 12),
            ("9007199254740993.0", 9_007_199_254_740_993), ("9223372036854775807e0", Int.max),
            ("-9223372036854775808.0", Int.min), ("12000000000000000000000e-21", 12),
        ] as [(String, Int)])
    func integralReals(text: String, value: Int) throws {
        #expect(try decoded(Int.self, text) == value)
    }

    @Test("an integer with a fraction is none", arguments: ["1.5", "1e-1", "0.1", "-2.0000000000000000000000001"])
    func fractions(text: String) throws {
        #expect(try issue(Int.self, text).detail == "expected an integer, found a number with a fraction")
        #expect(try issue(UInt8.self, text).detail == "expected an integer, found a number with a fraction")
    }

    @Test("doubles are written with the fewest digits that read back as the same")
    func doubles() throws {
        try roundTrips(0.1, "0.1")
        try roundTrips(5.0, "5")
        try roundTrips(-2.5, "-2.5")
        try roundTrips(1e16, "1e+16")
        try roundTrips(Double.leastNonzeroMagnitude, "5e-324")
        try roundTrips(Double.greatestFiniteMagnitude, "1.7976931348623157e+308")
        try roundTrips(Double.pi, "3.141592653589793")
        try roundTrips(Float(0.1), "0.1")
        try roundTrips(Float.greatestFiniteMagnitude, "3.4028235e+38")
        #expect(try encoded(-0.0) == "-0")
        #expect(try decoded(Double.self, "-0").sign == .minus)
        #expect(try decoded(Double.self, "-0.0").sign == .minus)
    }

    @Test("reals are rounded once, to the nearest")
    func rounding() throws {
        // Halfway between two floats but for its last digit; by way of a double it would be a tie.
        #expect(try decoded(Float.self, "1.00000005960464477539062500000001") == Float(1).nextUp)
        #expect(try decoded(Double.self, "9007199254740993") == 9_007_199_254_740_992)
        #expect(try decoded(Double.self, "2.2250738585072011e-308") == Double.leastNormalMagnitude.nextDown)
        #expect(try decoded(Double.self, "0.30000000000000004") == 0.1 + 0.2)
        #expect(try decoded(Double.self, "1e-400") == 0)
        for text in ["1e400", "-1e400", "1e99999999999999999999"] {
            #expect(try issue(Double.self, text).detail == "the number is out of range")
        }
        #expect(try issue(Float.self, "1e39").detail == "the number is out of range")
    }

    @Test("random doubles and floats come back bit for bit")
    func randomReals() throws {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<20_000 {
            let double = Double(bitPattern: random.next())
            if double.isFinite {
                #expect(try WireJSON.decode(Double.self, from: WireJSON.encode(double)).bitPattern == double.bitPattern)
            }
            let float = Float(bitPattern: UInt32(truncatingIfNeeded: random.next()))
            if float.isFinite {
                #expect(try WireJSON.decode(Float.self, from: WireJSON.encode(float)).bitPattern == float.bitPattern)
            }
        }
    }

    @Test("strings are escaped where they must be and nowhere else")
    func strings() throws {
        try roundTrips("", "\"\"")
        try roundTrips("aé€😀\u{7F}\u{2028}/", "\"aé€😀\u{7F}\u{2028}/\"")
        try roundTrips(
            "\"\\\u{8}\u{C}\n\r\t\u{0}\u{1}\u{F}\u{10}\u{1F}", #""\"\\\b\f\n\r\t\u0000\u0001\u000f\u0010\u001f""#)
        try roundTrips("\r\n", #""\r\n""#)
        #expect(try decoded(String.self, #""\u0041\/\ud83d\ude00\u20ac""#) == "A/😀€")
        var output = Array("x".utf8)
        WireJSON.appendString("a\"\n", to: &output)
        #expect(String(decoding: output, as: UTF8.self) == #"x"a\"\n""#)
    }

    @Test("true, false and null")
    func literals() throws {
        try roundTrips(true, "true")
        try roundTrips(false, "false")
        #expect(try encoded(Int?.none) == "null")
        #expect(try decoded(Int?.self, "null") == nil)
        #expect(try decoded([Int?].self, "[1,null]") == [1, nil])
        #expect(try encoded([1, nil]) == "[1,null]")
    }
}
