/// Random bytes that a journal made, for sessions that it does not keep yet: see `SessionSeal` in `Sessions`.
package struct JournalSecret: Sendable, Hashable {
    /// A key that another one replaced.
    package struct FormerKey: Sendable, Hashable {
        package var key: [UInt8]
        /// When every token that it proved is over: time since 1970.
        package var until: Duration

        package init(key: [UInt8], until: Duration) { (self.key, self.until) = (key, until) }
    }

    /// How much the clocks of servers that share a journal may differ, with the time after which all of them have read a
    /// secret that was changed: a new key proves nothing before, and a former one is taken so much longer.
    package static let spread: Duration = .seconds(120)

    /// 32 bytes. Only servers that use the journal may know them.
    package var key: [UInt8]
    /// From when on `key` proves new tokens: time since 1970. Until then the first of the former keys does.
    package var since: Duration
    /// The keys before it whose tokens are taken, the newest first.
    package var formerKeys: [FormerKey]
    /// 16 bytes, other ones whenever the journal was put back to an earlier time: names of logs depend on them.
    package var generation: [UInt8]

    package init(key: [UInt8], since: Duration = .zero, formerKeys: [FormerKey] = [], generation: [UInt8]) {
        (self.key, self.since, self.formerKeys, self.generation) = (key, since, formerKeys, generation)
    }

    /// New ones, from the system's random source.
    package static func random() -> JournalSecret {
        JournalSecret(key: randomBytes(32), generation: randomBytes(16))
    }

    /// The key that proves new tokens at a time since 1970.
    package func provingKey(at now: Duration) -> [UInt8] {
        now < since ? formerKeys.first?.key ?? key : key
    }

    /// The secret with another key. Tokens that the present key proves are taken until they are over.
    ///
    /// - Parameters:
    ///   - now: time since 1970.
    ///   - since: from when on the new key proves tokens.
    ///   - tokenLife: how long a token names a session that is not kept.
    /// - Returns: nil if the present key does not prove tokens yet: some servers may not know it.
    package func rotated(now: Duration, since: Duration, tokenLife: Duration) -> JournalSecret? {
        guard self.since <= now else { return nil }
        let former = FormerKey(key: key, until: max(now, since) + tokenLife + Self.spread)
        return JournalSecret(
            key: Self.randomBytes(32), since: since, formerKeys: [former] + formerKeys.filter { now < $0.until },
            generation: generation)
    }

    private static func randomBytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
