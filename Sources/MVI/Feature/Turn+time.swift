extension Turn {
    /// The wall-clock time. It is the same during the whole turn and when the turn runs again after a conflict.
    public var now: Timestamp {
        mutating get {
            let rare = makeRare()
            let now = rare.now ?? runner.environment.now()
            rare.now = now
            return now
        }
    }

    /// Returns a new UUID of version 4 (RFC 9562 section 5.4) in lower case. A turn that runs again after a conflict
    /// gets the same UUIDs in the same order.
    public mutating func uuid() -> String {
        let rare = makeRare()
        defer { rare.uuidCount += 1 }
        if rare.uuidCount == rare.uuids.count { rare.uuids.append(runner.environment.uuid()) }
        return rare.uuids[rare.uuidCount]
    }
}

/// The time, UUIDs and viewers that a turn read, to be repeated when it runs again.
@usableFromInline
package final class TurnInputs: Sendable {
    package let now: Timestamp?
    let uuids: [String]
    let viewers: KnownViewers?
    /// The inputs of the intents that it sent to other stores, in order.
    package let links: [TurnInputs?]

    package init(
        now: Timestamp?, uuids: [String] = [], viewers: KnownViewers? = nil, links: [TurnInputs?] = []
    ) {
        (self.now, self.uuids, self.viewers, self.links) = (now, uuids, viewers, links)
    }

    /// Returns a copy with the inputs of a chain.
    package func with(links: [TurnInputs?]) -> TurnInputs {
        TurnInputs(now: now, uuids: uuids, viewers: viewers, links: links)
    }
}

/// A UUID of version 4, from the system's random source.
@Sendable
func randomUUID() -> String {
    var generator = SystemRandomNumberGenerator()
    let high = generator.next() & ~0xF000 | 0x4000
    let low = generator.next() & ~(0b11 << 62) | 0b10 << 62
    let digits = hex(high) + hex(low)
    var text = ""
    for (place, digit) in digits.enumerated() {
        if [8, 12, 16, 20].contains(place) { text.append("-") }
        text.append(digit)
    }
    return text
}

private func hex(_ bits: UInt64) -> String {
    let digits = String(bits, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}
