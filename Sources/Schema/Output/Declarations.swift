/// The types of all features in one source: a namespace for each feature, and one for the types that several features
/// use, which are declared once.
struct Declarations {
    /// The definitions of a namespace, in the order of the output.
    struct Namespace {
        let name: String
        /// The feature; nil for the types of several features.
        let feature: FeatureShape?
        let definitions: [Declared]
    }

    /// A definition with the feature whose numbers it uses.
    struct Declared {
        var definition: TypeDefinition
        /// The place in the list of features.
        let feature: Int
    }

    /// The place of a declaration.
    struct Home {
        let name: String
        /// The feature that declares the type; nil for a shared declaration.
        let feature: Int?
    }

    let shapes: [FeatureShape]
    /// The features' namespaces, in their order: `order-detail` → `OrderDetail`.
    private let names: [String]
    private let sharedNamespace: String
    private let homes: [ObjectIdentifier: Home]
    private let shared: [Declared]
    private let received: Set<ObjectIdentifier>

    init(_ shapes: [FeatureShape]) {
        self.shapes = shapes
        let names = CodeNames.unique(shapes.map { CodeNames.upperCamel($0.name) } + ["Shared"])
        (self.names, sharedNamespace) = (names.dropLast(), names[shapes.count])
        let uses = Self.uses(shapes)
        var homes: [ObjectIdentifier: Home] = [:]
        for (id, places) in uses {
            let roots = places.filter { place in place.definition.root(of: shapes[place.feature]) != nil }
            guard let root = roots.first, roots.count == 1 else { continue }
            // Another type with the namespace's name would hide it.
            let isHidden = shapes.contains { shape in
                shape.definitions.contains { $0.name == names[root.feature] && $0.id != id }
            }
            if isHidden { continue }
            homes[id] = Home(name: root.definition.name, feature: root.feature)
        }
        let homeless = uses.filter { homes[$0.id] == nil }
        let newNames = TypeName.distinct(
            homeless.compactMap { $0.places.first?.definition.typeName }, given: [:],
            taken: CodeNames.taken.union(names).union(["State", "Intent", "Label"]))
        var shared: [Declared] = []
        for ((id, places), name) in zip(homeless, newNames) {
            homes[id] = Home(name: name, feature: nil)
            var declared = places[0]
            declared.definition.name = name
            shared.append(declared)
        }
        self.shared = shared.sorted { $0.definition.name < $1.definition.name }
        self.homes = homes
        received = Set(shapes.flatMap(\.received).compactMap(\.id))
    }

    /// Returns the types that several features use, with their definitions in each, in the order of the features.
    private static func uses(_ shapes: [FeatureShape]) -> [(id: ObjectIdentifier, places: [Declared])] {
        var indices: [ObjectIdentifier: Int] = [:]
        var uses: [(id: ObjectIdentifier, places: [Declared])] = []
        for (feature, shape) in shapes.enumerated() {
            for definition in shape.definitions {
                guard let id = definition.id else { continue }
                let declared = Declared(definition: definition, feature: feature)
                if let index = indices[id] {
                    uses[index].places.append(declared)
                } else {
                    indices[id] = uses.count
                    uses.append((id, [declared]))
                }
            }
        }
        return uses.filter { $0.places.count > 1 }
    }

    /// The namespaces in the order of the output.
    var namespaces: [Namespace] {
        let features = shapes.indices.map { feature in
            Namespace(
                name: names[feature], feature: shapes[feature],
                definitions: shapes[feature].ordered.compactMap { own($0, in: feature) })
        }
        guard !shared.isEmpty else { return features }
        return features + [Namespace(name: sharedNamespace, feature: nil, definitions: shared)]
    }

    /// All definitions, each once.
    var definitions: [TypeDefinition] { namespaces.flatMap { $0.definitions.map(\.definition) } }

    /// Returns true if a type in a declaration passes a test.
    func contain(where test: (WireType) -> Bool) -> Bool {
        definitions.contains { definition in definition.types.contains { $0.contains(test) } }
    }

    static let sharedSummary = "Types of several features."

    /// Returns the name of a feature's definition, with its namespace unless it is used inside of that.
    func name(of index: Int, in feature: Int, inside namespace: String? = nil) -> String {
        let home = home(of: index, in: feature)
        let own = home.feature.map { names[$0] } ?? sharedNamespace
        return (own == namespace ? "" : "\(own).") + home.name
    }

    /// Returns the declaration of a feature's definition.
    func home(of index: Int, in feature: Int) -> Home {
        let definition = shapes[feature].definitions[index]
        return definition.id.flatMap { homes[$0] } ?? Home(name: definition.name, feature: feature)
    }

    /// Returns true if a client receives values of the type in states or labels. Enums among these are open if older
    /// clients must read what a newer server adds.
    func isReceived(_ definition: TypeDefinition) -> Bool { definition.id.map { received.contains($0) } ?? false }

    /// Returns a feature's definition as it is declared in the feature's namespace; nil if it is declared elsewhere only.
    private func own(_ definition: TypeDefinition, in feature: Int) -> Declared? {
        guard let home = definition.id.flatMap({ homes[$0] }), home.feature != feature else {
            return Declared(definition: definition, feature: feature)
        }
        // The feature's three types have a name in each feature.
        guard let root = definition.root(of: shapes[feature]) else { return nil }
        return Declared(definition: TypeDefinition(name: root.name, kind: .alias(root.type)), feature: feature)
    }
}

extension TypeDefinition {
    /// Returns the one of a feature's three types that this is.
    fileprivate func root(of shape: FeatureShape) -> (name: String, type: WireType)? {
        shape.roots.first { $0.name == name }
    }
}
