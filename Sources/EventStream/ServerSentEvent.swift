/// One event as a server writes it.
public struct ServerSentEvent: Hashable, Sendable {
    /// The event's type, for instance `state`.
    public var name: String
    /// The cursor that a client sends back as `Last-Event-ID`; an event without one leaves the client's last id as
    /// it is.
    public var id: String?
    /// UTF-8 without CR, LF and NUL: one line.
    public var data: [UInt8]

    /// An event of its parts; ``EventEncoder`` refuses parts that do not fit on their lines.
    public init(name: String, id: String? = nil, data: [UInt8]) {
        self.name = name
        self.id = id
        self.data = data
    }
}
