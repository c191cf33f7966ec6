import JSONDelta
import WireJSON

extension FuzzTarget {
    /// Two texts with a line feed between them, used as two view states, and as a document and a patch.
    static let delta = FuzzTarget(name: "delta") { input throws(BrokenProperty) in
        let end = input.firstIndex(of: UInt8(ascii: "\n")) ?? input.endIndex
        let (one, two) = (Array(input[..<end]), Array(input[end...].dropFirst()))
        try isJSON(attempt { () throws(DeltaError) in try JSONPatch.apply(two, to: one) })
        try isJSON(attempt { () throws(DeltaError) in try MergePatch.apply(two, to: one) })
        let (patch, merge) = (JSONPatch.diff(from: one, to: two), MergePatch.diff(from: one, to: two))
        // Only view states are compared, which are JSON without blanks.
        guard isCompact(one), isCompact(two) else { return }
        try hold(patch != nil, "there is no JSON Patch between two JSON texts")
        if let patch {
            let patched = try succeed("a JSON Patch does not fit its document") {
                try JSONPatch.apply(patch, to: one)
            }
            try hold(isSame(patched, two), "a JSON Patch makes another document")
        }
        if let merge {
            let merged = try succeed("a merge patch does not fit its document") {
                try MergePatch.apply(merge, to: one)
            }
            try hold(isSame(merged, two), "a merge patch makes another document")
        }
    }

    private static func isCompact(_ text: [UInt8]) -> Bool {
        (try? WireJSON.decode(JSONText.self, from: text))?.bytes == text
    }

    /// Checks that an accepted result is JSON.
    private static func isJSON(_ result: Result<[UInt8], DeltaError>) throws(BrokenProperty) {
        guard let text = try? result.get() else { return }
        _ = try succeed("a patched document is not JSON") {
            try JSONDocument(text, limits: WireLimits(maximumDepth: 512))
        }
    }

    private static func isSame(_ one: [UInt8], _ two: [UInt8]) -> Bool {
        let test = Array(#"[{"op":"test","path":"","value":"#.utf8) + two + Array("}]".utf8)
        return (try? JSONPatch.apply(test, to: one)) != nil
    }
}
