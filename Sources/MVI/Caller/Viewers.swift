/// The clients that look at a store: each has an open stream that names it, on any node, or had one ten seconds ago.
public struct Viewers<Presence: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    /// Their number. A client with several streams counts once.
    public let count: Int
    /// The presence that they show each other, see ``Feature/presence(of:)``: at most 100, in the order in which they came, to the
    /// millisecond.
    public let shown: [Presence]

    private enum CodingKeys: String, CodingKey {
        case count, shown = "viewers"
    }

    /// Creates viewers.
    public init(count: Int, shown: [Presence]) { (self.count, self.shown) = (count, shown) }

    /// Viewers who all show something.
    public init(_ shown: [Presence] = []) { self.init(count: shown.count, shown: shown) }
}

/// The viewers of a store, and the same as JSON for recordings.
@usableFromInline
package struct KnownViewers: Sendable {
    /// `Viewers` of the feature's presence.
    let value: any Sendable
    @usableFromInline package let json: String

    package init<Presence>(_ viewers: Viewers<Presence>, json: String) { (value, self.json) = (viewers, json) }
}

extension Turn {
    /// The clients that look at the store now. They are the same during the whole turn and when the turn runs again.
    public var viewers: Viewers<F.Presence> {
        mutating get {
            let rare = makeRare()
            let known = rare.viewers ?? context.host.viewers(of: instance)
            rare.viewers = known
            return known.value as? Viewers<F.Presence> ?? Viewers()
        }
    }
}
