/// The JSON form of a Swift type's values.
package indirect enum WireType: Equatable, Sendable {
    /// Any JSON value, if the form is unknown.
    case any
    /// Values whose JSON clients cannot use. The server refuses to start with such a type, with the reason.
    case unfit(String)
    /// No value.
    case never
    case boolean
    /// An integer with a number of bits.
    case integer(bits: Int, isSigned: Bool)
    /// A number with 32 or 64 bits.
    case number(bits: Int)
    /// A number with decimal digits.
    case decimal
    /// A number of seconds.
    case duration
    /// A string, with a format of JSON Schema if only such strings are accepted, such as `date-time`.
    case string(format: String?)
    case array(WireType)
    /// An object with any member names.
    case dictionary(WireType)
    /// The value or `null`.
    case nullable(WireType)
    /// A reference to a definition of the ``FeatureShape`` by its number.
    case named(Int)
}

/// A type with its own name: a struct, an enum, or a type that is encoded like one.
package struct TypeDefinition: Equatable, Sendable {
    /// The JSON form of the type.
    package indirect enum Kind: Equatable, Sendable {
        /// One object for each case, distinguished by the member `type`.
        case cases([Case])
        /// An object.
        case object([Member])
        /// One of a list of strings or integers.
        case values([Value])
        /// The same form as another type.
        case alias(WireType)
    }

    /// A member of an object.
    package struct Member: Equatable, Sendable {
        package var name: String
        package var type: WireType
        /// True if the member may be absent.
        package var isOptional: Bool
        /// True for an unlabeled value of a case, called `value` in JSON.
        package var isUnlabelled = false
    }

    /// A case of an enum with its associated values.
    package struct Case: Equatable, Sendable {
        /// The value of the member `type`.
        package var name: String
        package var members: [Member]
        /// True if all of its members are known.
        package var isComplete = true
    }

    /// A raw value and the name of its Swift case.
    package struct Value: Equatable, Sendable {
        package enum Literal: Equatable, Sendable {
            case text(String)
            case integer(Int64)
        }

        package var name: String
        package var literal: Literal
    }

    /// An identifier, unique in its feature.
    package var name: String
    package var kind: Kind
    /// True if the whole type could be read.
    package var isComplete = true
    /// The Swift type; nil for a nested container.
    var id: ObjectIdentifier?
    var typeName: TypeName?
}
