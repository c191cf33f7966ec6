/// One value of a scanned document. Nodes lie in document order: an array's elements, and an object's names and
/// values in turn, follow their container directly.
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

    /// The first byte: of a string behind its quote. For a container, where it is not needed, the member found last.
    var start: UInt32
    /// Bytes of a scalar, elements of an array, members of an object.
    var length: UInt32 = 0
    /// The node behind this value and all that it contains.
    var next: UInt32
    var kind: Kind
    /// True if a string holds escapes, so that its bytes are not its text.
    var isEscaped = false
    /// True if a member's name was asked for, where the session notes that.
    var isRead = false

    /// The same value, its text and its document lying so much further back.
    func moved(bytes: Int, nodes: Int) -> Node {
        var node = self
        node.start += UInt32(kind == .array || kind == .object ? nodes : bytes)
        node.next += UInt32(nodes)
        return node
    }
}
