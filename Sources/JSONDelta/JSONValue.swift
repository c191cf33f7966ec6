import WireJSON

/// A JSON value as a mutable tree. Each value is an object, so that a nested change copies nothing. Used by one thread
/// at a time.
///
/// Numbers keep their text, so that numbers outside of Swift's types lose nothing.
final class JSONValue {
    enum Content {
        /// The text of a number, or of `null`, `true` or `false`.
        case plain([UInt8])
        /// Characters as UTF-8.
        case string([UInt8])
        case array([JSONValue])
        case object(JSONMembers)
    }

    struct Member {
        let name: [UInt8]
        var value: JSONValue
    }

    var content: Content

    init(_ content: Content) { self.content = content }

    /// - Throws: ``DeltaError`` if the bytes are not JSON.
    convenience init(_ bytes: [UInt8]) throws(DeltaError) {
        do throws(WireDecodingError) {
            self.init(try JSONDocument(bytes, limits: WireLimits(maximumDepth: JSONPatch.depthLimit)), at: 0)
        } catch {
            throw DeltaError("the text is not valid JSON: \(error)")
        }
    }

    /// Recurses to the depth of the document, which its limits restrict.
    private init(_ document: JSONDocument, at place: Int) {
        content =
            switch document.kind(place) {
            case .literal, .number: .plain(document.text(place))
            case .string: .string(document.text(place))
            case .array: .array(document.elements(of: place).map { JSONValue(document, at: $0) })
            case .object:
                .object(
                    JSONMembers(
                        document.names(of: place).map {
                            Member(name: document.text($0), value: JSONValue(document, at: $0 + 1))
                        }))
            }
    }

    /// Returns the value of an object's member; nil for other values.
    func member(_ name: String) -> JSONValue? {
        guard case .object(let members) = content else { return nil }
        return members.first { $0.name.elementsEqual(name.utf8) }?.value
    }

    var isNull: Bool {
        if case .plain(let text) = content { text.first == UInt8(ascii: "n") } else { false }
    }

    /// The number of nested levels of arrays and objects; 0 for other values.
    var depth: Int {
        switch content {
        case .plain, .string: 0
        case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
        case .object(let members): 1 + (members.lazy.map(\.value.depth).max() ?? 0)
        }
    }

    /// The number of values that it consists of.
    var size: Int {
        switch content {
        case .plain, .string: 1
        case .array(let elements): elements.reduce(1) { $0 + $1.size }
        case .object(let members): members.reduce(1) { $0 + $1.value.size }
        }
    }

    func copy() -> JSONValue {
        switch content {
        case .plain, .string: JSONValue(content)
        case .array(let elements): JSONValue(.array(elements.map { $0.copy() }))
        case .object(let members):
            JSONValue(.object(JSONMembers(members.map { Member(name: $0.name, value: $0.value.copy()) })))
        }
    }

    /// Appends the value as text without whitespace.
    func write(to output: inout [UInt8]) {
        switch content {
        case .plain(let text): output += text
        case .string(let text): WireJSON.appendString(utf8: text, to: &output)
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                element.write(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                WireJSON.appendString(utf8: member.name, to: &output)
                output.append(UInt8(ascii: ":"))
                member.value.write(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    var bytes: [UInt8] {
        var output: [UInt8] = []
        write(to: &output)
        return output
    }
}

extension JSONValue {
    /// Returns true if two values are equal (RFC 6902 section 4.6). The order of members is ignored, and numbers are
    /// compared by value.
    func isEqual(to other: JSONValue) -> Bool {
        switch (content, other.content) {
        case (.plain(let one), .plain(let two)): one == two || Self.isSameNumber(one, two)
        case (.string(let one), .string(let two)): one == two
        case (.array(let one), .array(let two)):
            one.count == two.count && zip(one, two).allSatisfy { $0.isEqual(to: $1) }
        case (.object(let one), .object(let two)):
            one.count == two.count && Self.haveSameMembers(one, two)
        default: false
        }
    }

    private static func haveSameMembers(_ one: JSONMembers, _ two: JSONMembers) -> Bool {
        one.allSatisfy { member in two[member.name].map { member.value.isEqual(to: $0) } ?? false }
    }

    /// Compares the digits of numbers, which may be more than those of a `Double`.
    private static func isSameNumber(_ one: [UInt8], _ two: [UInt8]) -> Bool {
        isNumber(one) && isNumber(two) && WireJSON.areEqual(number: one, two)
    }

    private static func isNumber(_ text: [UInt8]) -> Bool { text.first.map { $0 < UInt8(ascii: "a") } ?? false }
}
