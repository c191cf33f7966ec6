/// JSON Patch (RFC 6902): a list of operations that change a document.
package enum JSONPatch {
    /// The subtype of the media type without its suffix, as in the query of a stream.
    package static let name = "json-patch"

    /// Returns the document after a patch. All six operations are supported. Either all operations are applied or none.
    ///
    /// Can be called from any thread. Time and memory are limited to a small multiple of the two texts, except that
    /// `copy` may add up to ``copyLimit`` values.
    ///
    /// - Parameters:
    ///   - patch: UTF-8 of the patch, an array of objects.
    ///   - document: UTF-8 of a JSON text.
    /// - Returns: the new document without whitespace.
    /// - Throws: ``DeltaError`` if a text is not JSON, or if the patch is invalid or cannot be applied.
    package static func apply(_ patch: [UInt8], to document: [UInt8]) throws(DeltaError) -> [UInt8] {
        guard case .array(let operations) = try JSONValue(patch).content else {
            throw DeltaError("a JSON Patch is an array")
        }
        var target = PatchTarget(try JSONValue(document))
        for operation in operations { try target.apply(operation) }
        return target.root.bytes
    }

    /// The maximum number of values that the `copy` operations of a patch may add. Without a limit, a short patch could
    /// double a document repeatedly.
    package static let copyLimit = 1_000_000

    /// The maximum depth of a patched document.
    static let depthLimit = 512
}

/// A document to which a JSON Patch is applied.
struct PatchTarget {
    private(set) var root: JSONValue
    private var copied = 0

    init(_ root: JSONValue) { self.root = root }

    mutating func apply(_ operation: JSONValue) throws(DeltaError) {
        guard case .string(let name)? = operation.member("op")?.content else {
            throw DeltaError("the \"op\" of an operation is not a string")
        }
        let path = try pointer("path", of: operation)
        switch String(decoding: name, as: UTF8.self) {
        case "add": try add(value(of: operation), at: path)
        case "remove": _ = try remove(path)
        case "replace": try replace(path, value(of: operation))
        case "move":
            let from = try pointer("from", of: operation)
            guard !from.isAbove(path) else { throw DeltaError("a value cannot be moved into itself") }
            if from.tokens == path.tokens {
                _ = try root.value(at: path.tokens[...])
            } else {
                try add(remove(from), at: path)
            }
        case "copy":
            let source = try root.value(at: pointer("from", of: operation).tokens[...])
            copied += source.size
            guard copied <= JSONPatch.copyLimit else {
                throw DeltaError("the patch copies more than \(JSONPatch.copyLimit) values")
            }
            try add(source.copy(), at: path)
        case "test":
            guard try root.value(at: path.tokens[...]).isEqual(to: value(of: operation)) else {
                throw DeltaError("a test failed: the value is different")
            }
        case let other: throw DeltaError("unknown operation '\(other)'")
        }
    }

    private func pointer(_ name: String, of operation: JSONValue) throws(DeltaError) -> JSONPointer {
        guard case .string(let text)? = operation.member(name)?.content else {
            throw DeltaError("the \"\(name)\" of an operation is not a string")
        }
        return try JSONPointer(text)
    }

    private func value(of operation: JSONValue) throws(DeltaError) -> JSONValue {
        guard let value = operation.member("value") else { throw DeltaError("an operation has no \"value\"") }
        return value
    }

    /// Applies `add` (RFC 6902 section 4.1).
    private mutating func add(_ value: JSONValue, at path: JSONPointer) throws(DeltaError) {
        guard path.tokens.count + value.depth <= JSONPatch.depthLimit else {
            throw DeltaError("the document would be nested deeper than \(JSONPatch.depthLimit) levels")
        }
        guard let last = path.tokens.last else {
            root = value
            return
        }
        let parent = try root.value(at: path.tokens.dropLast())
        switch parent.content {
        case .object(let members): members.set(last, value)
        case .array(var elements):
            let place =
                last == [UInt8(ascii: "-")]
                ? elements.count : try JSONValue.index(last, below: elements.count + 1)
            // Emptied first, so that the array is not copied.
            parent.content = .array([])
            elements.insert(value, at: place)
            parent.content = .array(elements)
        case .plain, .string: throw JSONValue.nothing(last)
        }
    }

    /// Applies `remove` (RFC 6902 section 4.2).
    private mutating func remove(_ path: JSONPointer) throws(DeltaError) -> JSONValue {
        guard let last = path.tokens.last else { throw DeltaError("the whole document cannot be removed") }
        let parent = try root.value(at: path.tokens.dropLast())
        switch parent.content {
        case .object(let members):
            guard let removed = members.remove(last) else { throw JSONValue.nothing(last) }
            return removed
        case .array(var elements):
            let place = try JSONValue.index(last, below: elements.count)
            parent.content = .array([])
            let removed = elements.remove(at: place)
            parent.content = .array(elements)
            return removed
        case .plain, .string: throw JSONValue.nothing(last)
        }
    }

    /// Applies `replace` (RFC 6902 section 4.3). A member keeps its position.
    private mutating func replace(_ path: JSONPointer, _ value: JSONValue) throws(DeltaError) {
        let old = try root.value(at: path.tokens[...])
        guard path.tokens.count + value.depth <= JSONPatch.depthLimit else {
            throw DeltaError("the document would be nested deeper than \(JSONPatch.depthLimit) levels")
        }
        // The value of an operation is used only once, so its content can be moved.
        old.content = value.content
    }
}
