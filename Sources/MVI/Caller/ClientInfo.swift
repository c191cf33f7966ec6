/// The client that sent an intent: its locale, its time zone and its network address.
public struct ClientInfo: Sendable {
    package let settings: ClientSettings?
    package let origin: (any ClientOrigin)?

    /// The language tag (BCP 47) that the client has set, such as `de-DE`, as the client wrote it; nil if it has set none.
    public var locale: String? { settings?.locale }
    /// The IANA time zone that the client has set, such as `Europe/Berlin`; nil if it has set none.
    public var timeZone: String? { settings?.timeZone }
    /// The client's IP address as the server's quotas see it, behind trusted proxies; nil if it is not known. Determined at
    /// each call. It is personal data, and recordings do not have it.
    public var address: String? { origin?.clientAddress }

    /// Creates a client.
    public init(locale: String? = nil, timeZone: String? = nil, address: String? = nil) {
        self.init(ClientSettings(locale: locale, timeZone: timeZone), address.map(FixedOrigin.init))
    }

    package init(_ settings: ClientSettings?, _ origin: (any ClientOrigin)?) {
        (self.settings, self.origin) = (settings, origin)
    }

    private final class FixedOrigin: ClientOrigin {
        let clientAddress: String?
        init(_ address: String) { clientAddress = address }
    }
}

/// The origin of an intent, which knows the client's address. So only turns that ask for the address pay for it.
package protocol ClientOrigin: AnyObject, Sendable {
    var clientAddress: String? { get }
}

/// The values that a client has set for its credential. A class, since many sessions have one.
package final class ClientSettings: Sendable {
    package let locale: String?
    package let timeZone: String?

    /// Nil if both are.
    package init?(locale: String?, timeZone: String?) {
        if locale == nil, timeZone == nil { return nil }
        (self.locale, self.timeZone) = (locale, timeZone)
    }

    /// The values as journals store them: neither has a space, and a missing one is `-`.
    package var text: String { "\(locale ?? "-") \(timeZone ?? "-")" }

    /// Reads a stored text. Ignores more values than these.
    package convenience init?(text: String) {
        let values = text.split(separator: " ", omittingEmptySubsequences: false).map { $0 == "-" ? nil : String($0) }
        guard values.count >= 2 else { return nil }
        self.init(locale: values[0], timeZone: values[1])
    }
}

extension ClientSettings: Hashable {
    package static func == (left: ClientSettings, right: ClientSettings) -> Bool {
        left.locale == right.locale && left.timeZone == right.timeZone
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(locale)
        hasher.combine(timeZone)
    }
}
