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

    /// Changes the target. Recurses to the depth of the patch, which the scanner has limited.
    private static func merge(_ patch: JSONValue, into target: JSONValue?) -> JSONValue {
        guard case .object(let changes) = patch.content else { return patch }
        var members = JSONMembers()
        if let target, case .object(let existing) = target.content { members = existing }
        for change in changes {
            if change.value.isNull {
                _ = members.remove(change.name)
            } else {
                members.set(change.name, merge(change.value, into: members[change.name]))
            }
        }
        return JSONValue(.object(members))
    }
}
