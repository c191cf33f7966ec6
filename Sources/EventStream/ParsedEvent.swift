/// One event as a client receives it.
public struct ParsedEvent: Hashable, Sendable {
    /// The event's type; `message` where the stream named none.
    public let name: String
    /// The id that this event itself carried, if any.
    public let id: String?
    /// The stream's last id as of this event: what a client that reconnects sends as `Last-Event-ID`. Empty while
    /// none was given.
    public let lastEventID: String
    /// The data lines, joined by LF, as the server sent them.
    public let data: [UInt8]

    /// ``data`` as text; what is not UTF-8 becomes U+FFFD.
    public var text: String { String(decoding: data, as: UTF8.self) }

    /// An event of its parts.
    public init(name: String, id: String?, lastEventID: String, data: [UInt8]) {
        self.name = name
        self.id = id
        self.lastEventID = lastEventID
        self.data = data
    }
}
