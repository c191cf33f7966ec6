/// A client that looks at a store, by a stream, a read or the answer to an intent.
public struct Viewer: Sendable {
    /// The signed-in user; nil for an anonymous client.
    public let principal: Principal?
    /// The client as turns of a shared store know it; nil in a store of the client's own session, which is the only one that
    /// sees it.
    public let sender: Sender?
    private let settings: ClientSettings?

    /// The language tag (BCP 47) that the client has set, such as `de-DE`; nil if it has set none.
    public var locale: String? { settings?.locale }
    /// The IANA time zone that the client has set, such as `Europe/Berlin`; nil if it has set none.
    public var timeZone: String? { settings?.timeZone }

    /// Creates a viewer.
    public init(
        principal: Principal? = nil, sender: Sender? = nil, locale: String? = nil, timeZone: String? = nil
    ) {
        self.init(principal, sender, ClientSettings(locale: locale, timeZone: timeZone))
    }

    package init(_ principal: Principal?, _ sender: Sender?, _ settings: ClientSettings?) {
        (self.principal, self.sender, self.settings) = (principal, sender, settings)
    }
}

/// The audience of a feature that shows all clients the same.
public struct Everyone: Hashable, Sendable {
    /// Creates the only value.
    @inlinable
    public init() {}
}
