/// A value during its encoding.
struct Frame {
    enum Form: UInt8 {
        /// The value has no form yet.
        case open
        case object
        case array
        /// A single value that has been written.
        case single
    }

    /// The type that is being encoded.
    let owner: any Any.Type
    /// The number in each container of this value, to detect containers that are used too late.
    let serial: UInt32
    /// The start of the value in the output.
    let start: Int
    var form = Form.open
    /// The number of written members or elements.
    var count = 0
    /// The key type that the object was requested with.
    var keys: ObjectIdentifier?
    var hasUnlabelled = false
    var hasValueLabel = false

    /// A placeholder without a value. No container has this serial number.
    static var none: Frame { Frame(owner: Void.self, serial: 0, start: 0) }
}
