/// One value while it is being encoded.
struct Frame {
    enum Form: UInt8 {
        /// Nothing was asked for yet.
        case open
        case object
        case array
        /// A single value, which has been written.
        case single
    }

    /// The type that is being encoded.
    let owner: any Any.Type
    /// Told by every container of this value, so that one kept too long is noticed.
    let serial: UInt32
    /// Where the value begins in the output.
    let start: Int
    var form = Form.open
    /// Members or elements written.
    var count = 0
    /// The keys that the object was asked for with.
    var keys: ObjectIdentifier?
    var hasUnlabelled = false
    var hasValueLabel = false
}
