/// The answer of another node.
public struct PeerResponse: Sendable {
    public var status: Int
    /// The fields as they came, in order.
    public var fields: [(name: String, value: String)]
    public var body: [UInt8]

    public init(status: Int, fields: [(name: String, value: String)], body: [UInt8]) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    /// The first value of a field, whose name is given in lower case; nil if there is no such field.
    func value(of name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }
}
