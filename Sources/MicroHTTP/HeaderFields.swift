/// A request's fields: the head's bytes, copied once, and where each name and value lies in them.
///
/// Names are compared without regard to case; a name to look for is given in lower case. Looking one up compares
/// bytes and makes no `String`.
public struct HeaderFields: Sendable {
    struct Entry: Sendable {
        var nameStart: UInt32
        var nameEnd: UInt32
        var valueStart: UInt32
        var valueEnd: UInt32

        var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }
        var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
    }

    let bytes: [UInt8]
    let entries: [Entry]
    /// Bit n is set if a name has n bytes, modulo 64. Most fields that are looked for are not there, which this says at
    /// once.
    private let lengths: UInt64

    init(bytes: [UInt8], entries: [Entry]) {
        self.bytes = bytes
        self.entries = entries
        var lengths: UInt64 = 0
        for entry in entries { lengths |= 1 << UInt64((entry.nameEnd - entry.nameStart) & 63) }
        self.lengths = lengths
    }

    /// Fields from names and values; for tests and for requests that came from no socket.
    public init(_ fields: [(name: String, value: String)]) {
        var bytes: [UInt8] = []
        var entries: [Entry] = []
        for field in fields {
            let nameStart = bytes.count
            bytes += field.name.utf8
            let valueStart = bytes.count
            bytes += field.value.utf8
            entries.append(
                Entry(
                    nameStart: UInt32(nameStart), nameEnd: UInt32(valueStart),
                    valueStart: UInt32(valueStart), valueEnd: UInt32(bytes.count)))
        }
        self.init(bytes: bytes, entries: entries)
    }

    /// The number of fields, the repeated ones counted each time.
    public var count: Int { entries.count }

    /// The first value of `name` (lower case), bytes that are no UTF-8 replaced; nil if there is no such field.
    public subscript(_ name: StaticString) -> String? {
        firstEntry(name).map { String(decoding: bytes[$0.value], as: UTF8.self) }
    }

    /// The bytes of the first value of `name` (lower case), surrounding whitespace removed; shares their storage.
    public func bytes(of name: StaticString) -> ArraySlice<UInt8>? {
        firstEntry(name).map { bytes[$0.value] }
    }

    /// Whether there is a field `name` (lower case).
    public func contains(_ name: StaticString) -> Bool { firstEntry(name) != nil }

    /// Every value of `name` (lower case), in order. A list across them is for the caller to take apart.
    public func values(of name: StaticString) -> [String] {
        guard contains(name) else { return [] }
        return entries.filter { matches($0, name) }.map { String(decoding: bytes[$0.value], as: UTF8.self) }
    }

    /// How many fields `name` (lower case) there are, and the bytes of the first one's value.
    public func occurrences(of name: StaticString) -> (count: Int, first: ArraySlice<UInt8>?) {
        guard mayContain(name) else { return (0, nil) }
        var count = 0
        var first: Range<Int>?
        for entry in entries where matches(entry, name) {
            count += 1
            first = first ?? entry.value
        }
        return (count, first.map { bytes[$0] })
    }

    /// Every field as sent, in order.
    public var all: [(name: String, value: String)] {
        entries.map {
            (String(decoding: bytes[$0.name], as: UTF8.self), String(decoding: bytes[$0.value], as: UTF8.self))
        }
    }

    private func firstEntry(_ name: StaticString) -> Entry? {
        guard mayContain(name) else { return nil }
        for entry in entries where matches(entry, name) { return entry }
        return nil
    }

    @inline(__always)
    private func mayContain(_ name: StaticString) -> Bool {
        lengths & 1 << UInt64(name.utf8CodeUnitCount & 63) != 0
    }

    private func matches(_ entry: Entry, _ name: StaticString) -> Bool {
        guard Int(entry.nameEnd - entry.nameStart) == name.utf8CodeUnitCount else { return false }
        // The pointer is the literal's, valid for ever; the index stays below the count compared above.
        let wanted = name.utf8Start
        return bytes.withUnsafeBufferPointer { bytes in
            let start = Int(entry.nameStart)
            for index in 0..<name.utf8CodeUnitCount where bytes[start + index].lowercased != wanted[index] {
                return false
            }
            return true
        }
    }
}
