import LibCrypto
import Schema
import Sessions
import WireJSON

/// Shows recorded values as the names of their types, so that a document shows no data of users. A member's name stays only
/// if the feature's types declare it: names in dictionaries, and those of unknown types, are values, too.
struct ValueShape: Sendable {
    /// Stands for a subject, and for a member's name that is a value.
    static let hiddenName = "…"

    /// The forms of a feature's recorded values.
    let cause, actions, messages, labels, state, view: WireType
    private let definitions: [TypeDefinition]
    /// The version of the states of these types.
    private let schemaVersion: Int?

    /// The shape of values of unknown types.
    static let unknown = ValueShape([], [], schemaVersion: nil)

    /// Calls the types' `init(from:)` with sample values.
    init(_ feature: FeatureDefinition) {
        let types = feature.types
        let forms = ValueForms([types.intent, types.label, types.viewState] + types.kept())
        self.init(forms.types, forms.definitions, schemaVersion: feature.schemaVersion)
    }

    /// - Parameter types: of intents, labels, view states, states, messages and actions.
    init(_ types: [WireType], _ definitions: [TypeDefinition], schemaVersion: Int?) {
        let types = types + Array(repeating: .any, count: 6 - types.count)
        (cause, labels, view, state) = (types[0], .array(types[1]), types[2], types[3])
        (messages, actions) = (.array(types[4]), .array(types[5]))
        (self.definitions, self.schemaVersion) = (definitions, schemaVersion)
    }

    /// Returns the shape for values of a schema version; nil if that is the present one.
    func of(version: Int?) -> ValueShape { version == nil || version == schemaVersion ? self : .unknown }

    /// Returns a JSON text without whitespace with `"string"`, `"number"` and `"boolean"` in place of such values.
    ///
    /// - Parameter namesCases: true if the value, or each element of an array, keeps the name of its case.
    func of(_ json: [UInt8], _ type: WireType = .any, namesCases: Bool = false) -> [UInt8] {
        guard let document = try? JSONDocument(json) else { return Array("null".utf8) }
        var output: [UInt8] = []
        write(document, 0, forms([type]), namesCases, to: &output)
        return output
    }

    /// Recurses to the depth of the document, which its limits restrict.
    private func write(
        _ document: JSONDocument, _ place: Int, _ forms: [Form], _ namesCases: Bool, to output: inout [UInt8]
    ) {
        switch document.kind(place) {
        case .literal: output += (document.text(place).first == UInt8(ascii: "n") ? "null" : "\"boolean\"").utf8
        case .number: output += "\"number\"".utf8
        case .string: output += "\"string\"".utf8
        case .array:
            output.append(UInt8(ascii: "["))
            for (index, element) in document.elements(of: place).enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                write(document, element, child("\(index)", of: forms).forms, namesCases, to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object:
            var hidden = 0
            output.append(UInt8(ascii: "{"))
            for (index, member) in document.names(of: place).enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                let name = String(decoding: document.text(member), as: UTF8.self)
                let child = child(name, of: forms)
                // Names in an object are distinct.
                if !child.isDeclared { hidden += 1 }
                let shown = child.isDeclared ? name : Self.hiddenName + (hidden == 1 ? "" : "\(hidden)")
                WireJSON.appendString(shown, to: &output)
                output.append(UInt8(ascii: ":"))
                if namesCases, name == "type", document.kind(member + 1) == .string,
                    let text = String(validating: document.text(member + 1), as: UTF8.self),
                    forms.contains(where: { $0.cases.contains(text) })
                {
                    WireJSON.appendString(text, to: &output)
                } else {
                    write(document, member + 1, child.forms, false, to: &output)
                }
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    /// Returns a JSON Pointer without names that are values. Digits stay only as an array's index.
    func path(_ path: String, of type: WireType) -> String {
        var places = forms([type])
        return path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { token in
            let child = child(token.replacing("~1", with: "/").replacing("~0", with: "~"), of: places)
            places = child.forms
            return child.isDeclared ? "/\(token)" : "/\(Self.hiddenName)"
        }.joined()
    }

    /// The names that a type declares in its values' JSON.
    private struct Form {
        /// The type of an array's elements.
        var element: WireType?
        /// The type of a dictionary's values.
        var value: WireType?
        var members: [(name: String, type: WireType)] = []
        var cases: Set<String> = []
    }

    /// Returns the forms of a member or an element, and true if it is one in all of the forms of its owner.
    private func child(_ name: some StringProtocol, of forms: [Form]) -> (forms: [Form], isDeclared: Bool) {
        let isIndex = name == "-" || name.utf8.allSatisfy { (0x30...0x39).contains($0) }
        let declared = forms.map { form in
            form.members.filter { $0.name == name }.map(\.type) + (isIndex ? [form.element].compactMap(\.self) : [])
        }
        // Cases with the same member double them at each level.
        var distinct: [WireType] = []
        for type in declared.flatMap(\.self) + forms.compactMap(\.value) where !distinct.contains(type) {
            distinct.append(type)
        }
        return (
            self.forms(distinct),
            !forms.isEmpty && declared.allSatisfy { !$0.isEmpty }
        )
    }

    private func forms(_ types: [WireType]) -> [Form] {
        types.map { type in
            var type = type
            // Aliases may form a cycle.
            for _ in 0...definitions.count {
                switch type {
                case .nullable(let wrapped): type = wrapped
                case .named(let index):
                    guard case .alias(let other) = definitions[index].kind else { return form(definitions[index]) }
                    type = other
                case .array(let element): return Form(element: element)
                // A pseudonym stands in the place of a secret.
                case .boolean, .integer, .number, .decimal, .duration, .string:
                    return Form(members: [("secret", .string(format: nil))])
                case .dictionary(let value): return Form(value: value)
                case .any, .unfit, .never: return Form()
                }
            }
            return Form()
        }
    }

    private func form(_ definition: TypeDefinition) -> Form {
        switch definition.kind {
        case .object(let members): Form(members: members.map { ($0.name, $0.type) })
        case .cases(let cases):
            Form(
                members: [("type", .string(format: nil))] + cases.flatMap(\.members).map { ($0.name, $0.type) },
                cases: Set(cases.map(\.name)))
        case .values, .alias: Form()
        }
    }

    /// A key of this process, from the system's generator.
    private static let key = HMACKey((0..<32).map { _ in UInt8.random(in: .min ... .max) })

    /// Returns a name in the place of an intent's id, which a client may have chosen: the same for the same id in a session.
    /// Without the process's key a guessed id cannot be compared with it.
    static func intent(_ id: String, session: String) -> String {
        // The server's own ids have no values.
        if id.hasPrefix("‹") { return id }
        let code = key.code(for: Array("\(session)\n\(id)".utf8))
        return String(code.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }, radix: 36)
    }
}
