/// Random bytes of a journal that prove sessions which it does not store yet: see `SessionSeal` in `Sessions`.
package struct JournalSecret: Sendable, Hashable {
    /// A key that was replaced.
    package struct FormerKey: Sendable, Hashable {
        package var key: [UInt8]
        /// The time since 1970 at which the last token that it proved expires.
        package var until: Duration

        package init(key: [UInt8], until: Duration) { (self.key, self.until) = (key, until) }
    }

    /// The largest difference between servers' clocks plus the time until all have read a changed secret. A new key
    /// proves nothing before this time has passed, and a former one is accepted this much longer.
    package static let spread: Duration = .seconds(120)

    /// 32 bytes, known only to servers that use the journal.
    package var key: [UInt8]
    /// The time since 1970 from which `key` proves new tokens. Until then the first former key does.
    package var since: Duration
    /// The earlier keys whose tokens are still accepted, newest first.
    package var formerKeys: [FormerKey]
    /// 16 bytes that change when the journal is restored to an earlier time. Epochs of logs depend on them.
    package var generation: [UInt8]

    package init(key: [UInt8], since: Duration = .zero, formerKeys: [FormerKey] = [], generation: [UInt8]) {
        (self.key, self.since, self.formerKeys, self.generation) = (key, since, formerKeys, generation)
    }

    /// Returns a new secret from the system's random source.
    package static func random() -> JournalSecret {
        JournalSecret(key: randomBytes(32), generation: randomBytes(16))
    }

    /// Returns the key that proves new tokens at a time since 1970.
    package func provingKey(at now: Duration) -> [UInt8] {
        now < since ? formerKeys.first?.key ?? key : key
    }

    /// Returns the secret with a new key. Tokens that the present key proves are accepted until they expire.
    ///
    /// - Parameters:
    ///   - now: Time since 1970.
    ///   - since: The time from which the new key proves tokens.
    ///   - tokenLife: The lifetime of a token of a session that is not stored.
    /// - Returns: Nil if the present key is not in use yet: some servers may not know it.
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
