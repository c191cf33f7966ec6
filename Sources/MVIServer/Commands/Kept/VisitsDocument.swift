import MVI
import SessionJournal
import Sessions
import WireJSON

/// The last line of a subject's export: the spaces to which the subject sent something.
enum VisitsDocument {
    /// Returns the document as one line with a line end; nil without spaces.
    static func line(_ spaces: [VisitedSpace]) -> [UInt8]? {
        guard !spaces.isEmpty else { return nil }
        var object = JSONObject()
        object.add("format", "mvi-visits/1")
        object.add(
            "spaces",
            array: spaces.map { visited in
                var space = JSONObject()
                space.add("space", visited.space.text)
                space.add("sender", visited.sender)
                space.add("lastUse", Timestamp(sinceEpoch: visited.lastUse).description)
                return space.close()
            })
        return object.close() + [UInt8(ascii: "\n")]
    }
}
