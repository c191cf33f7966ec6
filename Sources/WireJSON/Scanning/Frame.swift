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
    /// Borne by every container of this value, so that one kept too long is noticed.
    let serial: UInt32
    /// The start of the value in the output.
    let start: Int
    var form = Form.open
    /// Members or elements written.
    var count = 0
    /// The keys that the object was asked for with.
    var keys: ObjectIdentifier?
    var hasUnlabelled = false
    var hasValueLabel = false

    /// No value: no container has this serial number.
    static var none: Frame { Frame(owner: Void.self, serial: 0, start: 0) }
}
