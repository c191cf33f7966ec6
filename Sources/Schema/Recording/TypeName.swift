/// The components of a Swift type's name: `App.Section<App.Fee.Content>` is `Section` of (`Fee`, `Content`).
struct TypeName: Equatable {
    private struct Component: Equatable {
        var name: String
        var arguments: [TypeName] = []
    }

    private var components: [Component] = []

    /// - Parameter type: a type whose name is used in schemas and code.
    init(_ type: any Any.Type) {
        var text = Substring(_typeName(type, qualified: true))
        self.init(parsing: &text)
    }

    private init(parsing text: inout Substring) {
        while let first = text.first {
            if first == "(" {
                // `(unknown context at $7f01)`, in names of private and local types.
                text = text.drop { $0 != ")" }.dropFirst()
            } else {
                let name = text.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
                guard !name.isEmpty else { break }
                text = text.dropFirst(name.count)
                var component = Component(name: String(name))
                if text.first == "<" { component.arguments = Self.arguments(&text) }
                components.append(component)
            }
            guard text.first == "." else { break }
            text = text.dropFirst()
        }
        // The module's name is dropped.
        if components.count > 1 { components.removeFirst() }
    }

    private static func arguments(_ text: inout Substring) -> [TypeName] {
        var arguments: [TypeName] = []
        while let first = text.first, first != ">" {
            text = text.dropFirst()
            while text.first == " " { text = text.dropFirst() }
            let length = text.count
            arguments.append(TypeName(parsing: &text))
            // Functions and tuples have other characters, which are skipped.
            if text.count == length || (text.first != "," && text.first != ">") {
                text = text.drop { $0 != ">" }
            }
        }
        text = text.dropFirst()
        return arguments
    }

    /// Returns an identifier from at most `depth` last components, and at most `argumentDepth` of its arguments.
    func identifier(depth: Int, ofArguments argumentDepth: Int) -> String {
        let text = components.suffix(depth).map { component in
            let arguments = component.arguments.map { $0.identifier(depth: argumentDepth, ofArguments: argumentDepth) }
            return component.name + (arguments.isEmpty ? "" : "Of" + arguments.joined(separator: "And"))
        }.joined()
        return text.isEmpty ? "Unnamed" : text
    }

    /// Returns the shortest identifiers that are distinct.
    ///
    /// - Parameters:
    ///   - given: fixed names by index.
    ///   - taken: names reserved for the fixed ones.
    static func distinct(_ names: [TypeName], given: [Int: String], taken: Set<String>) -> [String] {
        var result = names.indices.map { given[$0] ?? "" }
        var open = names.indices.filter { given[$0] == nil }
        var used = taken
        for (depth, argumentDepth) in [(1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (4, 4)] {
            let candidates = Dictionary(grouping: open) {
                names[$0].identifier(depth: depth, ofArguments: argumentDepth)
            }
            for (name, places) in candidates where places.count == 1 && used.insert(name).inserted {
                result[places[0]] = name
            }
            open.removeAll { !result[$0].isEmpty }
        }
        // Types of different modules or inside functions.
        for place in open {
            let name = names[place].identifier(depth: 4, ofArguments: 4)
            var number = 2
            while !used.insert("\(name)\(number)").inserted { number += 1 }
            result[place] = "\(name)\(number)"
        }
        return result
    }
}
