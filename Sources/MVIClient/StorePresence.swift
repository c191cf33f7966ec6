import WireJSON

/// The clients that look at a store; see ``RemoteStore/presence``.
public struct StorePresence: Sendable, Hashable {
    /// Their number, also of those that show nothing. One with several streams counts once.
    public let count: Int
    let shown: [JSONText]

    /// Returns what at most 100 of them show, in the order in which they came.
    ///
    /// - Parameter type: the type of the feature's presence. Values that do not match it are left out.
    public func viewers<Viewer: Decodable>(as type: Viewer.Type = Viewer.self) -> [Viewer] {
        shown.compactMap { try? WireJSON.decode(type, from: $0.bytes) }
    }
}
