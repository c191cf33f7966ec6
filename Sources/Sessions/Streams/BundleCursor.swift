import EventStream
import LibCrypto
import MVI
import SessionJournal
import WireJSON

/// The position of a stream that shows a session and spaces: `<epoch>.<number>` of the session's log, then
/// `~<name><check>.<number>` for each space.
///
/// A name is a hash of the space's; a check is a hash of its log's epoch and, under a rule, of the reader's identity. Both
/// have six characters: a clash makes a stream begin at the present instead of where it was, or costs nothing if it is of
/// names that one stream does not show.
package struct BundleCursor {
    /// A position in a space's log.
    package struct Part: Sendable, Equatable {
        let check: String
        let number: UInt64
    }

    /// The most bytes that a cursor takes: a part that does not fit is left out, and resets.
    static let longest = 512

    /// The parts by their names. A name that stands twice has none that is known.
    private var parts: [Substring: Part] = [:]

    /// Reads the parts after a session's own: text from a client.
    ///
    /// - Parameter epoch: the epoch of the session's log, which may have any of the separators itself.
    init(_ text: String, of epoch: String) {
        guard text.utf8.count <= Self.longest else { return }
        let own = text.hasPrefix(epoch + ".") ? text.dropFirst(epoch.count + 1) : text[...]
        for part in own.split(separator: "~", omittingEmptySubsequences: false).dropFirst() {
            let fields = part.split(separator: ".", omittingEmptySubsequences: false)
            // The stream repeats a part that it resets in its ids, so it must be one that a server can have written.
            guard fields.count == 2, fields[0].utf8.count == 12, Epoch.isValid(fields[0]),
                let number = Self.number(fields[1])
            else { continue }
            let (name, check) = (fields[0].prefix(6), String(fields[0].suffix(6)))
            parts[name] = Part(check: parts[name] == nil ? check : "", number: number)
        }
    }

    /// The part of a space; nil if the cursor has none.
    subscript(space: SpaceName) -> Part? { parts[Self.name(space)[...]] }

    /// The number of a session's own part, also in a cursor of that alone; nil if the text is no cursor of the log.
    static func number(of epoch: String, in text: String) -> UInt64? {
        guard text.utf8.count <= longest, text.hasPrefix(epoch + ".") else { return nil }
        return number(text.dropFirst(epoch.count + 1).prefix { $0 != "~" })
    }

    private static func number(_ digits: Substring) -> UInt64? {
        guard let number = UInt64(digits), "\(number)" == digits else { return nil }
        return number
    }

    static func name(_ space: SpaceName) -> String { hash(["space", space.text]) }

    /// Six characters, 30 bits.
    fileprivate static func hash(_ texts: [String]) -> String {
        // Each text has its length before it, so that no two lists are the same bytes.
        let bytes = SHA256.digest(texts.flatMap { Array("\($0.utf8.count):\($0)".utf8) })
        return String(Epoch.name(digest: bytes).suffix(6))
    }
}

/// The identity by which a space's log is read, as far as a rule may judge it.
package struct SpaceReader: Sendable, Equatable {
    private let identity: [String]

    /// - Parameter principal: nil for an anonymous client, and where no rule judges an identity.
    init(_ principal: Principal?) {
        guard let principal else {
            identity = []
            return
        }
        // These differ between two proofs of the same identity.
        let claims = principal.claims.filter { !["exp", "iat", "nbf", "jti"].contains($0.key.text) }
        let texts = claims.map { name, value in
            "\(name.text)=" + ((try? WireJSON.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "")
        }
        identity = [principal.issuer, principal.subject] + texts.sorted()
    }

    func check(of epoch: String) -> String { BundleCursor.hash(["check", epoch] + identity) }
}
