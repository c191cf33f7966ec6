/// The JSON forms of several types.
package struct ValueForms: Sendable {
    /// In the order in which the types were given; `any` for nil.
    package let types: [WireType]
    /// The named types in them.
    package let definitions: [TypeDefinition]

    /// Reads the types as ``FeatureShape`` does.
    package init(_ types: [(any Decodable.Type)?]) {
        let recorder = TypeRecorder()
        let described = types.map { $0.map { recorder.describe($0) } ?? .any }
        let found = FoundTypes(recorder.found, roots: [], taken: [])
        (self.types, definitions) = (described.map(found.resolved), found.definitions)
    }
}
