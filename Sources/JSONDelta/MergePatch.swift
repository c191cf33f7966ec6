/// JSON Merge Patch (RFC 7396): an object with the members that are new or changed, and `null` for removed ones.
package enum MergePatch {
    /// The subtype of the media type without its suffix, as in the query of a stream.
    package static let name = "merge-patch"

    /// Returns the document after a patch (RFC 7396 section 2). Each JSON text is a valid merge patch.
    ///
    /// Can be called from any thread.
    ///
    /// - Parameters:
    ///   - patch: UTF-8 of a JSON text.
    ///   - document: UTF-8 of a JSON text.
    /// - Returns: the new document without whitespace.
    /// - Throws: ``DeltaError`` if one of the texts is not JSON.
    package static func apply(_ patch: [UInt8], to document: [UInt8]) throws(DeltaError) -> [UInt8] {
        merge(try JSONValue(patch), into: try JSONValue(document)).bytes
    }

    /// Recurses to the depth of the patch, which the scanner has limited.
    private static func merge(_ patch: JSONValue, into target: JSONValue?) -> JSONValue {
        guard case .object(let changes) = patch.content else { return patch }
        var members: [JSONValue.Member] = []
        if let target, case .object(let existing) = target.content { members = existing }
        var places = Dictionary(members.indices.map { (members[$0].name, $0) }) { first, _ in first }
        var removed: Set<Int> = []
        for change in changes {
            let place = places[change.name]
            if change.value.isNull {
                if let place { removed.insert(place) }
            } else if let place {
                members[place].value = merge(change.value, into: members[place].value)
            } else {
                places[change.name] = members.count
                members.append(JSONValue.Member(name: change.name, value: merge(change.value, into: nil)))
            }
        }
        if !removed.isEmpty { members = members.indices.filter { !removed.contains($0) }.map { members[$0] } }
        return JSONValue(.object(members))
    }
}
