/// A request's fields: the head's bytes, copied once, and the ranges of names and values.
///
/// Names are case-insensitive; look-ups use lowercase names. They compare bytes and create no `String`.
package struct HeaderFields: Sendable {
    package struct Entry: Sendable {
        var nameStart: UInt32
        var nameEnd: UInt32
        var valueStart: UInt32
        var valueEnd: UInt32

        var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }
        var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }

        /// The ranges of the name and the value in the head's bytes.
        package init(nameStart: UInt32, nameEnd: UInt32, valueStart: UInt32, valueEnd: UInt32) {
            (self.nameStart, self.nameEnd) = (nameStart, nameEnd)
            (self.valueStart, self.valueEnd) = (valueStart, valueEnd)
        }
    }

    let bytes: [UInt8]
    let entries: [Entry]
    /// Bit n is set if a name has n bytes, modulo 64. Rejects most look-ups of absent fields at once.
    private let lengths: UInt64

    /// Fields in a head's bytes.
    package init(bytes: [UInt8], entries: [Entry]) {
        self.bytes = bytes
        self.entries = entries
        var lengths: UInt64 = 0
        for entry in entries { lengths |= 1 << UInt64((entry.nameEnd - entry.nameStart) & 63) }
        self.lengths = lengths
    }

    /// Fields from names and values, for tests and requests without a socket.
    package init(_ fields: [(name: String, value: String)]) {
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

    /// The number of fields, including repeated ones.
    package var count: Int { entries.count }

    /// The first value of `name` (lowercase), with invalid UTF-8 replaced; nil if there is no such field.
    package subscript(_ name: StaticString) -> String? {
        firstEntry(name).map { String(decoding: bytes[$0.value], as: UTF8.self) }
    }

    /// Returns the trimmed bytes of the first value of `name` (lowercase). They share their storage.
    package func bytes(of name: StaticString) -> ArraySlice<UInt8>? {
        firstEntry(name).map { bytes[$0.value] }
    }

    /// True if there is a field `name` (lowercase).
    package func contains(_ name: StaticString) -> Bool { firstEntry(name) != nil }

    /// Returns all values of `name` (lowercase) in order, without splitting lists.
    package func values(of name: StaticString) -> [String] {
        guard contains(name) else { return [] }
        return entries.filter { matches($0, name) }.map { String(decoding: bytes[$0.value], as: UTF8.self) }
    }

    /// Returns the values of `name` (lowercase) as one list, separated by commas (RFC 9110 section 5.3). A single one
    /// shares its storage.
    package func list(of name: StaticString) -> ArraySlice<UInt8> {
        let (count, first) = occurrences(of: name)
        guard count > 1, let first else { return first ?? [] }
        var list: [UInt8] = []
        list.reserveCapacity(first.count * 2)
        for entry in entries where matches(entry, name) {
            if !list.isEmpty { list.append(UInt8(ascii: ",")) }
            list += bytes[entry.value]
        }
        return list[...]
    }

    /// Returns the number of fields `name` (lowercase) and the bytes of the first value.
    package func occurrences(of name: StaticString) -> (count: Int, first: ArraySlice<UInt8>?) {
        guard mayContain(name) else { return (0, nil) }
        var count = 0
        var first: Range<Int>?
        for entry in entries where matches(entry, name) {
            count += 1
            first = first ?? entry.value
        }
        return (count, first.map { bytes[$0] })
    }

    /// Returns the first of some names (lowercase) that appears twice; nil if each appears at most once.
    func firstDoubled(of names: [StaticString]) -> StaticString? {
        names.first { name in
            guard mayContain(name) else { return false }
            var hasOne = false
            for entry in entries where matches(entry, name) {
                if hasOne { return true }
                hasOne = true
            }
            return false
        }
    }

    /// Returns all values of a field whose name (lowercase) is dynamic, in order. Slower than with a literal.
    package func values(named name: String) -> [String] {
        bytes(named: name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of these values.
    package func bytes(named name: String) -> [ArraySlice<UInt8>] {
        entries.filter { bytes[$0.name].lazy.map(\.lowercased).elementsEqual(name.utf8) }.map { bytes[$0.value] }
    }

    /// All fields as sent, in order.
    package var all: [(name: String, value: String)] {
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
        let count = name.utf8CodeUnitCount
        guard Int(entry.nameEnd - entry.nameStart) == count else { return false }
        // The pointer is the literal's and always valid; all offsets are below the count compared above.
        let wanted = UnsafeRawPointer(name.utf8Start)
        return bytes.withUnsafeBytes { bytes in
            let sent = UnsafeRawBufferPointer(rebasing: bytes[entry.name])
            var index = 0
            // Eight bytes at once. Setting the bit for lowercase in all of them turns no character of a name into a
            // digit or a hyphen.
            while index + 8 <= count {
                let word = sent.loadUnaligned(fromByteOffset: index, as: UInt64.self) | 0x2020_2020_2020_2020
                guard word == wanted.loadUnaligned(fromByteOffset: index, as: UInt64.self) else { return false }
                index += 8
            }
            while index < count {
                guard sent[index] | 0x20 == wanted.load(fromByteOffset: index, as: UInt8.self) else { return false }
                index += 1
            }
            return true
        }
    }
}
