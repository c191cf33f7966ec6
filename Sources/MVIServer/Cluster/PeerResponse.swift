/// An answer of another node.
public struct PeerResponse: Sendable {
    public var status: Int
    /// The received fields, in order.
    public var fields: [(name: String, value: String)]
    public var body: [UInt8]

    public init(status: Int, fields: [(name: String, value: String)], body: [UInt8]) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    /// The first value of a field with a name in lower case; nil if there is none.
    func value(of name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }
}
