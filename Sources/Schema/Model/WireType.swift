/// The wire type of a Swift type.
package indirect enum WireType: Equatable, Sendable {
    /// Any JSON value: the type does not say more.
    case any
    /// No value at all.
    case never
    case boolean
    /// Of so many bits.
    case integer(bits: Int, isSigned: Bool)
    /// Of 32 or 64 bits.
    case number(bits: Int)
    /// With one of JSON Schema's formats if only such texts are taken, such as `date-time`.
    case string(format: String?)
    case array(WireType)
    /// An object with any names.
    case dictionary(WireType)
    /// The value or `null`.
    case nullable(WireType)
    /// The definition of that number in the ``FeatureShape``.
    case named(Int)
}

/// A type with a name of its own: a struct, an enum, or whatever is coded like one.
package struct TypeDefinition: Equatable, Sendable {
    /// The kind of its JSON.
    package indirect enum Kind: Equatable, Sendable {
        /// One object for each case, told by the member `type`.
        case cases([Case])
        /// An object.
        case object([Member])
        /// One of a list of texts or integers.
        case values([Value])
        /// The same as another type.
        case alias(WireType)
    }

    /// A member of an object.
    package struct Member: Equatable, Sendable {
        package var name: String
        package var type: WireType
        /// True if it may be absent.
        package var isOptional: Bool
        /// True if it is a case's value without a label, called `value` on the wire.
        package var isUnlabelled = false
    }

    /// A case of an enum with its associated values.
    package struct Case: Equatable, Sendable {
        /// The member `type`.
        package var name: String
        package var members: [Member]
        /// True if all of its members are known.
        package var isComplete = true
    }

    /// A raw value, and the name of its case in Swift.
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
    /// True if all of it could be read from the type.
    package var isComplete = true
}
