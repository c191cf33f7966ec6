/// A value of a scanned document. Nodes are in document order: an array's elements, and an object's alternating names
/// and values, directly follow their container.
struct Node {
    enum Kind: UInt8 {
        case null, `true`, `false`
        /// A number without fraction and exponent.
        case integer
        /// Any other number.
        case real
        case string
        case array
        case object
    }

    /// The first byte; for a string, the one after its quote. Containers store the member found last here.
    var start: UInt32
    /// The number of bytes of a scalar, elements of an array, or members of an object.
    var length: UInt32 = 0
    /// The index of the node after this value and its contents.
    var next: UInt32
    var kind: Kind
    /// True if a string contains escapes, so that its bytes are not its text.
    var isEscaped = false
    /// True if a member's name was read, if the session records that.
    var isRead = false

    /// Returns the same value, moved back in its text and its document.
    func moved(bytes: Int, nodes: Int) -> Node {
        var node = self
        node.start += UInt32(kind == .array || kind == .object ? nodes : bytes)
        node.next += UInt32(nodes)
        return node
    }
}
