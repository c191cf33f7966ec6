extension FeatureShape {
    /// The members whose JSON clients cannot use, with the reasons: `state/photo: Data is …`. In the order of the types.
    package var unfitMembers: [String] {
        roots.flatMap { root -> [String] in
            var walk = UnfitWalk(shape: self)
            walk.visit(root.type, at: root.name.lowercased())
            return walk.findings
        }
    }
}

/// Visits each definition that a type leads to once.
private struct UnfitWalk {
    let shape: FeatureShape
    var findings: [String] = []
    private var seen: Set<Int> = []

    init(shape: FeatureShape) { self.shape = shape }

    mutating func visit(_ type: WireType, at place: String) {
        switch type {
        case .unfit(let reason): findings.append("\(place): \(reason)")
        case .array(let element), .dictionary(let element): visit(element, at: "\(place)/*")
        case .nullable(let wrapped): visit(wrapped, at: place)
        case .named(let index):
            if seen.insert(index).inserted { visit(shape.definitions[index], at: place) }
        case .any, .never, .boolean, .integer, .number, .decimal, .duration, .string: break
        }
    }

    private mutating func visit(_ definition: TypeDefinition, at place: String) {
        switch definition.kind {
        case .cases(let cases): for one in cases { visit(one.members, at: "\(place)(\(one.name))") }
        case .object(let members): visit(members, at: place)
        case .alias(let type): visit(type, at: place)
        case .values: break
        }
    }

    private mutating func visit(_ members: [TypeDefinition.Member], at place: String) {
        for member in members { visit(member.type, at: "\(place)/\(member.name)") }
    }
}
