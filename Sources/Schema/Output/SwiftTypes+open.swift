/// Enums with a case for what a newer server adds.
extension SwiftTypes {
    private static let note = "/// Sent by a newer server. The server refuses it in an intent."

    // MARK: Values

    func addOpen(_ name: String, _ values: [TypeDefinition.Value], to code: inout CodeLines) {
        let names = CodeNames.unique(values.map { CodeNames.identifier($0.name) } + ["unknown"])
        let isText = if case .text? = values.first?.literal { true } else { false }
        let raw = isText ? "String" : "Int64"
        let known = zip(values, names).map { value, name in
            switch value.literal {
            case .text(let text): (name: Self.escaped(name), literal: Self.quoted(text))
            case .integer(let number): (name: Self.escaped(name), literal: "\(number)")
            }
        }
        let unknown = names[values.count]
        let conformances = "RawRepresentable, Codable, CaseIterable, Hashable, Sendable"
        code.block("public enum \(name): \(conformances) {") { code in
            for (name, _) in known { code.add("case \(name)") }
            code.add(Self.note)
            code.add("case \(unknown)(\(raw))")
            code.add()
            code.add("/// The known cases.")
            code.add("public static let allCases: [Self] = [\(known.map { ".\($0.name)" }.joined(separator: ", "))]")
            code.add()
            code.block("public init(rawValue: \(raw)) {") { code in
                code.add("switch rawValue {")
                for (name, literal) in known { code.add("case \(literal): self = .\(name)") }
                code.add("default: self = .\(unknown)(rawValue)")
                code.add("}")
            }
            code.add()
            code.block("public var rawValue: \(raw) {") { code in
                code.add("switch self {")
                for (name, literal) in known { code.add("case .\(name): \(literal)") }
                code.add("case .\(unknown)(let value): value")
                code.add("}")
            }
        }
    }

    // MARK: Cases

    private struct OpenCase {
        let wire: String
        let name: String
        /// The member's label, nil if it has none, with the type and the key's name.
        let members: [(label: String?, type: String, key: String)]
    }

    /// Reads and writes the members by hand: the compiler's way knows no other case.
    func addOpenCases(_ cases: [TypeDefinition.Case], to code: inout CodeLines) {
        let names = CodeNames.unique(cases.map { CodeNames.identifier($0.name) } + ["unknown"])
        var keys: [(name: String, wire: String)] = [("type", "type")]
        let all = zip(cases, names).map { one, name in
            let members = one.members.filter { $0.type != .never }
            let labels = CodeNames.unique(members.map { CodeNames.identifier($0.name) })
            return OpenCase(
                wire: one.name, name: Self.escaped(name),
                members: zip(members, labels).map { member, label in
                    if !keys.contains(where: { $0.wire == member.name }) {
                        let key = CodeNames.unique(keys.map(\.name) + [CodeNames.identifier(member.name)])
                        keys.append((key[keys.count], member.name))
                    }
                    let key = keys.first { $0.wire == member.name }?.name ?? label
                    return (member.isUnlabelled ? nil : label, type(of: member), Self.escaped(key))
                })
        }
        let unknown = names[cases.count]
        for one in all {
            let values = one.members.map { member in
                (member.label.map { "\(Self.escaped($0)): " } ?? "") + member.type
            }
            code.add("case \(one.name)" + (values.isEmpty ? "" : "(\(values.joined(separator: ", ")))"))
        }
        code.add(Self.note)
        code.add("case \(unknown)(type: String)")
        code.add()
        code.block("private enum MemberKeys: String, CodingKey {") { code in
            for key in keys {
                let isSame = key.name == key.wire
                code.add("case \(Self.escaped(key.name))" + (isSame ? "" : " = \(Self.quoted(key.wire))"))
            }
        }
        code.add()
        code.block("public init(from decoder: any Decoder) throws {") { code in
            code.add("let members = try decoder.container(keyedBy: MemberKeys.self)")
            code.add("let type = try members.decode(String.self, forKey: .type)")
            code.add("switch type {")
            for one in all { code.add("case \(Self.quoted(one.wire)): self = \(Self.decoding(one))") }
            code.add("default: self = .\(unknown)(type: type)")
            code.add("}")
        }
        code.add()
        code.block("public func encode(to encoder: any Encoder) throws {") { code in
            code.add("var members = encoder.container(keyedBy: MemberKeys.self)")
            code.add("switch self {")
            for one in all { addEncoding(one, to: &code) }
            code.add("case .\(unknown)(let type): try members.encode(type, forKey: .type)")
            code.add("}")
        }
    }

    private static func decoding(_ one: OpenCase) -> String {
        guard !one.members.isEmpty else { return ".\(one.name)" }
        let values = one.members.map { member in
            let isOptional = member.type.hasSuffix("?")
            let type = isOptional ? String(member.type.dropLast()) : member.type
            let value = "try members.decode\(isOptional ? "IfPresent" : "")(\(type).self, forKey: .\(member.key))"
            // In a call only these need escapes, and others may have none.
            let label = member.label.map { ["inout", "let", "var"].contains($0) ? "`\($0)`" : $0 }
            return (label.map { "\($0): " } ?? "") + value
        }
        return ".\(one.name)(\(values.joined(separator: ", ")))"
    }

    private func addEncoding(_ one: OpenCase, to code: inout CodeLines) {
        let bindings = one.members.indices.map { "let value\($0)" }.joined(separator: ", ")
        code.add("case .\(one.name)\(bindings.isEmpty ? "" : "(\(bindings))"):")
        code.add("    try members.encode(\(Self.quoted(one.wire)), forKey: .type)")
        for (index, member) in one.members.enumerated() {
            let call = member.type.hasSuffix("?") ? "encodeIfPresent" : "encode"
            code.add("    try members.\(call)(value\(index), forKey: .\(member.key))")
        }
    }
}
