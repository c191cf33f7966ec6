import WireJSON

/// The values of an enum that is encoded as its raw value.
enum EnumValues {
    /// Returns all values with their JSON; nil for other types.
    ///
    /// The values come from `CaseIterable`, or else from the layout of an enum without associated values.
    static func all<T: Decodable>(of type: T.Type) -> (first: T, values: [TypeDefinition.Value])? {
        guard EnumShape.isEnum(type), let raw = type as? any (RawRepresentable & Decodable).Type else { return nil }
        guard let list = list(raw), let first = list.first as? T else { return nil }
        return (first, list.values)
    }

    private static func list<R: RawRepresentable & Decodable>(
        _ type: R.Type
    ) -> (first: Any, values: [TypeDefinition.Value])? {
        let cases =
            (type as? any CaseIterable.Type).flatMap { allCases($0) as? [R] } ?? EnumShape.values(of: type) ?? []
        guard let first = cases.first else { return nil }
        var values: [TypeDefinition.Value] = []
        for value in cases {
            guard R(rawValue: value.rawValue) != nil, let literal = literal(value) else { return nil }
            values.append(TypeDefinition.Value(name: "\(value)", literal: literal))
        }
        return (first, values)
    }

    private static func allCases<C: CaseIterable>(_ type: C.Type) -> Any { Array(type.allCases) }

    /// Returns the JSON of a value; nil if it cannot be decoded again.
    private static func literal<R: RawRepresentable & Decodable>(_ value: R) -> TypeDefinition.Value.Literal? {
        guard let value = value as? any (Encodable & RawRepresentable), let bytes = try? WireJSON.encode(value) else {
            return nil
        }
        guard (try? WireJSON.decode(R.self, from: bytes)) != nil else { return nil }
        if let text = try? WireJSON.decode(String.self, from: bytes) { return .text(text) }
        return (try? WireJSON.decode(Int64.self, from: bytes)).map { .integer($0) }
    }
}
