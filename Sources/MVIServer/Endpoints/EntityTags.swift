import MVI
import MicroHTTP

/// The value of `If-Match` or `If-None-Match` (RFC 9110 section 13.1).
package enum EntityTags: Sendable, Equatable {
    /// `*`.
    case any
    case list([Tag])

    package struct Tag: Sendable, Equatable {
        package let isWeak: Bool
        /// The tag without quotes, as bytes, since a request may have thousands of tags.
        package let opaque: ArraySlice<UInt8>
    }

    /// Nil without the field; an error if it is malformed.
    static func read(_ name: StaticString, of fields: HeaderFields) -> Result<EntityTags, Malformed>? {
        guard fields.contains(name) else { return nil }
        guard let tags = EntityTags(fields.list(of: name)) else {
            return .failure(Malformed())
        }
        return .success(tags)
    }

    struct Malformed: Error {}

    package init?(_ value: String) { self.init(ArraySlice(value.utf8)) }

    private init?(_ value: ArraySlice<UInt8>) {
        var scanner = FieldScanner(value)
        scanner.skipBlanks()
        if scanner.accept("*") {
            scanner.skipBlanks()
            guard scanner.isAtEnd else { return nil }
            self = .any
            return
        }
        var tags: [Tag] = []
        while true {
            scanner.skipBlanks()
            // Empty elements of a list are allowed (RFC 9110 section 5.6.1.2).
            if scanner.accept(",") { continue }
            if scanner.isAtEnd { break }
            let isWeak = scanner.accept("W")
            if isWeak, !scanner.accept("/") { return nil }
            guard let opaque = Self.opaque(&scanner) else { return nil }
            tags.append(Tag(isWeak: isWeak, opaque: opaque))
            scanner.skipBlanks()
            guard scanner.isAtEnd || scanner.accept(",") else { return nil }
        }
        guard !tags.isEmpty else { return nil }
        self = .list(tags)
    }

    /// Reads an entity tag. It has no escapes: a backslash is a normal character.
    private static func opaque(_ scanner: inout FieldScanner) -> ArraySlice<UInt8>? {
        guard scanner.accept("\"") else { return nil }
        let rest = scanner.remainder
        guard let end = rest.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
        let opaque = rest[..<end]
        guard opaque.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return nil }
        scanner = FieldScanner(rest[(end + 1)...])
        return opaque
    }

    /// Compares strongly, for `If-Match`: a weak tag never matches.
    ///
    /// - Parameter versions: those of a log that are the same state. What follows the version in the tag of an audience's
    ///   view tells two audiences apart, of which a client has one.
    func nameStrongly(anyOf versions: ClosedRange<UInt64>, in epoch: String) -> Bool {
        switch self {
        case .any: true
        case .list(let tags):
            tags.contains { tag in
                guard !tag.isWeak, tag.opaque.starts(with: epoch.utf8) else { return false }
                let rest = tag.opaque.dropFirst(epoch.utf8.count)
                guard rest.first == UInt8(ascii: ".") else { return false }
                let digits = rest.dropFirst().prefix { $0 != UInt8(ascii: "-") }
                // As it is written: no leading zeros and signs.
                guard let version = UInt64(String(decoding: digits, as: UTF8.self)),
                    String(version).utf8.elementsEqual(digits)
                else { return false }
                return versions.contains(version)
            }
        }
    }

    /// Compares with a state's tag, for `If-None-Match`. A view of an audience is the same if its check is, whatever the
    /// version.
    func match(_ state: StateSnapshot) -> Bool {
        guard case .list(let tags) = self, let check = state.audience?.check.utf8 else {
            return matchesWeakly(state.entityTag)
        }
        let start = state.epoch + "."
        return tags.contains { tag in
            tag.opaque.starts(with: start.utf8) && tag.opaque.suffix(check.count).elementsEqual(check)
        }
    }

    /// Compares weakly, for `If-None-Match`.
    func matchesWeakly(_ opaque: String) -> Bool {
        switch self {
        case .any: true
        case .list(let tags): tags.contains { $0.opaque.elementsEqual(opaque.utf8) }
        }
    }
}
