/// A type of the standard library whose JSON form is known.
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
    /// The standard library's form: an object if the keys are strings or integers, or can be converted; otherwise an
    /// array of alternating keys and values.
    static func wireType(_ recorder: TypeRecorder) -> WireType {
        let value = recorder.describe(Value.self)
        if Key.self == String.self || Key.self == Int.self || Key.self is any CodingKeyRepresentable.Type {
            return .dictionary(value)
        }
        let key = recorder.describe(Key.self)
        return .array(key == value ? key : .any)
    }
    static var sample: Any { [Key: Value]() }
}
