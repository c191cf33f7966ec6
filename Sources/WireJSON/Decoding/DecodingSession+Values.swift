extension DecodingSession {
    func kind(_ node: Int) -> Node.Kind { nodes[node].kind }

    /// Returns the bytes of a scalar as in the document.
    func raw(_ node: Int) -> ArraySlice<UInt8> { raw(nodes[node]) }

    func raw(_ node: Node) -> ArraySlice<UInt8> { bytes[Int(node.start)..<Int(node.start) + Int(node.length)] }

    /// Returns the text of a string node.
    func text(_ node: Int) -> String {
        let raw = raw(node)
        return nodes[node].isEscaped
            ? String(decoding: EscapedText.unescaped(raw), as: UTF8.self) : String(decoding: raw, as: UTF8.self)
    }

    func string(_ node: Int) throws -> String {
        guard kind(node) == .string else { throw wrongKind(node, expected: "a string", String.self) }
        return text(node)
    }

    func bool(_ node: Int) throws -> Bool {
        switch kind(node) {
        case .true: return true
        case .false: return false
        default: throw wrongKind(node, expected: "true or false", Bool.self)
        }
    }

    /// Returns the exact integer, which may also be written as `1.0` or `1e2`.
    func integer<Integer: FixedWidthInteger>(_ node: Int, _ type: Integer.Type = Integer.self) throws -> Integer {
        do throws(NumberText.IntegerFailure) {
            switch kind(node) {
            case .integer: return try NumberText.integer(raw(node), as: type)
            case .real: return try NumberText.integerOfReal(raw(node), as: type)
            default: break
            }
        } catch .fraction {
            throw corrupted(node, "expected an integer, found a number with a fraction")
        } catch {
            throw corrupted(node, "expected an integer from \(Integer.min) to \(Integer.max)")
        }
        throw wrongKind(node, expected: "an integer", type)
    }

    func double(_ node: Int) throws -> Double {
        guard kind(node) == .integer || kind(node) == .real else {
            throw wrongKind(node, expected: "a number", Double.self)
        }
        guard let value = NumberText.double(raw(node)) else { throw corrupted(node, "the number is out of range") }
        return value
    }

    func float(_ node: Int) throws -> Float {
        guard kind(node) == .integer || kind(node) == .real else {
            throw wrongKind(node, expected: "a number", Float.self)
        }
        guard let value = NumberText.float(raw(node)) else { throw corrupted(node, "the number is out of range") }
        return value
    }

    func corrupted(_ node: Int, _ detail: String) -> DecodingError {
        Mismatch(node: node, detail: detail).corrupted
    }

    /// Returns the error for a value of another kind; for `null`, that there is no value.
    func wrongKind(_ node: Int, expected: String, _ type: any Any.Type) -> DecodingError {
        let found =
            switch kind(node) {
            case .null: "null"
            case .true, .false: "true or false"
            case .integer, .real: "a number"
            case .string: "a string"
            case .array: "an array"
            case .object: "an object"
            }
        let mismatch = Mismatch(node: node, detail: "expected \(expected), found \(found)")
        return kind(node) == .null ? .valueNotFound(type, mismatch.context) : .typeMismatch(type, mismatch.context)
    }
}
