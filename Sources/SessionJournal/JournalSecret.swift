/// Random bytes that a journal made once, for sessions that it does not keep yet: see `SessionSeal` in `Sessions`.
public struct JournalSecret: Sendable, Hashable {
    /// 32 bytes, for as long as the journal is there. Only servers that use the journal may know them.
    public var key: [UInt8]
    /// 16 bytes, other ones whenever the journal was put back to an earlier time: names of logs depend on them.
    public var generation: [UInt8]

    public init(key: [UInt8], generation: [UInt8]) {
        (self.key, self.generation) = (key, generation)
    }

    /// New ones, from the system's random source.
    public static func random() -> JournalSecret {
        var generator = SystemRandomNumberGenerator()
        func bytes(_ count: Int) -> [UInt8] {
            (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        }
        return JournalSecret(key: bytes(32), generation: bytes(16))
    }
}
