/// The end of a session's log: what compare-and-append compares.
///
/// New with each append. The number alone would not do: after a failover two branches of a log can reach the same one.
public struct SessionHead: Hashable, Sendable {
    /// Of the log's last turn; 0 if there was none.
    public var number: UInt64
    /// 64 random bits.
    public var nonce: UInt64

    public init(number: UInt64, nonce: UInt64) {
        self.number = number
        self.nonce = nonce
    }

    /// That of a session without any turn.
    public static let empty = SessionHead(number: 0, nonce: 0)

    /// How many of a session's last heads a journal remembers, the newest included.
    public static let remembered = 16
}
