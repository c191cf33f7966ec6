import WireJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A type of the standard library or Foundation whose JSON form is known.
protocol KnownType {
    static func wireType(_ recorder: TypeRecorder) -> WireType
    /// A sample value, for a type that continues to read.
    static var sample: Any { get }
}

extension Bool: KnownType {
    static func wireType(_ recorder: TypeRecorder) -> WireType { .boolean }
    static var sample: Any { false }
}

extension String: KnownType {
    static func wireType(_ recorder: TypeRecorder) -> WireType { .string(format: nil) }
    static var sample: Any { SampleScalar.all[0].text }
}

extension Double: KnownType {
    static func wireType(_ recorder: TypeRecorder) -> WireType { .number(bits: 64) }
    static var sample: Any { 1.0 }
}

extension Float: KnownType {
    static func wireType(_ recorder: TypeRecorder) -> WireType { .number(bits: 32) }
    static var sample: Any { Float(1) }
}

extension KnownType where Self: FixedWidthInteger {
    static func wireType(_ recorder: TypeRecorder) -> WireType { .integer(bits: bitWidth, isSigned: isSigned) }
    static var sample: Any { Self(1) }
}

extension Int: KnownType {}
extension Int8: KnownType {}
extension Int16: KnownType {}
extension Int32: KnownType {}
extension Int64: KnownType {}
extension UInt: KnownType {}
extension UInt8: KnownType {}
extension UInt16: KnownType {}
extension UInt32: KnownType {}
extension UInt64: KnownType {}
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
extension Int128: KnownType {}
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
extension UInt128: KnownType {}

extension Decimal: KnownType {
    static func wireType(_ recorder: TypeRecorder) -> WireType { .decimal }
    static var sample: Any { Decimal(1) }
}

extension Duration: KnownType {
    static func wireType(_ recorder: TypeRecorder) -> WireType { .duration }
    static var sample: Any { Duration.seconds(1) }
}

extension Date: KnownType {
    static func wireType(_ recorder: TypeRecorder) -> WireType { .string(format: "date-time") }
    static var sample: Any { Date(timeIntervalSince1970: 0) }
}

extension UUID: KnownType {
    static func wireType(_ recorder: TypeRecorder) -> WireType { .string(format: "uuid") }
    static var sample: Any { UUID() }
}

extension URL: KnownType {
    static func wireType(_ recorder: TypeRecorder) -> WireType { .string(format: "uri") }
    static var sample: Any { URL(filePath: "/") }
}

extension Data: KnownType {
    static func wireType(_ recorder: TypeRecorder) -> WireType {
        .string(format: "base64")
    }
    static var sample: Any { Data() }
}

extension Never: KnownType {
    static func wireType(_ recorder: TypeRecorder) -> WireType { .never }
    /// An empty value.
    static var sample: Any { () }
}

extension Optional: KnownType where Wrapped: Decodable {
    static func wireType(_ recorder: TypeRecorder) -> WireType {
        let wrapped = recorder.describe(Wrapped.self)
        if case .nullable = wrapped { return wrapped }
        return .nullable(wrapped)
    }
    static var sample: Any { Self.none as Any }
}

extension Array: KnownType where Element: Decodable {
    static func wireType(_ recorder: TypeRecorder) -> WireType { .array(recorder.describe(Element.self)) }
    static var sample: Any { [Element]() }
}

extension Set: KnownType where Element: Decodable {
    static func wireType(_ recorder: TypeRecorder) -> WireType { .array(recorder.describe(Element.self)) }
    static var sample: Any { Set<Element>() }
}

extension Dictionary: KnownType where Key: Decodable, Value: Decodable {
    /// An object if the keys are strings or integers, or can be converted. Otherwise the standard library writes an
    /// array of alternating keys and values.
    static func wireType(_ recorder: TypeRecorder) -> WireType {
        let value = recorder.describe(Value.self)
        if Key.self == String.self || Key.self == Int.self || Key.self is any CodingKeyRepresentable.Type
            || Self.areKeysNames
        {
            return .dictionary(value)
        }
        return .unfit(
            "a dictionary with keys of the type \(Key.self) is a list of keys and values in JSON; use keys of the type "
                + "String, Int or UUID, an enum of texts or a CodingKeyRepresentable")
    }
    static var sample: Any { [Key: Value]() }
}
