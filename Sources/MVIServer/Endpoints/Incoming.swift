import MicroHTTP
import Sessions

/// A request's head with the place of its path's parameter.
struct Incoming: Sendable {
    let head: RequestHead
    /// The range of the parameter in the path.
    let parameter: Range<Int>
    var sender = RequestSender.client

    var fields: HeaderFields { head.fields }

    /// True if only the head of a `GET`'s answer is wanted.
    var isHead: Bool { head.method == Route.Method.head.rawValue }

    /// The parameter's text; nil if its encoding is broken, so that it names nothing.
    var parameterText: String? { PercentEncoding.decode(head.path[parameter]) }

    /// The texts of a path's two parameters; nil where an encoding is broken, so that it names nothing.
    var parameterTexts: (first: String?, second: String?) {
        let slash = UInt8(ascii: "/")
        let both = head.path[parameter]
        let first = both.prefix { $0 != slash }
        let second = both.lastIndex(of: slash).map { both[($0 + 1)...] } ?? []
        return (PercentEncoding.decode(first), PercentEncoding.decode(second))
    }

    /// The feature instance that the path names, if the server has such a feature.
    func feature(_ features: FeatureRegistry) throws(Problem) -> FeatureID {
        let raw = head.path[parameter]
        // What has no escapes, as nearly all ids have none, is an id as it stands, or none.
        if let id = FeatureID(raw), features.definition(for: id) != nil { return id }
        return try Self.feature(parameterText, features)
    }

    static func feature(_ text: String?, _ features: FeatureRegistry) throws(Problem) -> FeatureID {
        guard let text, let id = FeatureID(text) else {
            throw Problem(
                .featureNotFound,
                "That is no feature id: it is written `name` or `name:key`, as in counter or order:42.")
        }
        guard features.definition(for: id) != nil else {
            guard let definition = features[id.name] else {
                // Those that not everybody may know of are left out.
                let names = features.definitions.filter { $0.rule == nil }.map(\.name).joined(separator: ", ")
                throw Problem(
                    .featureNotFound,
                    "There is no feature called \"\(id.name)\"." + (names.isEmpty ? "" : " There are: \(names)."))
            }
            throw Problem(
                .featureNotFound,
                definition.isKeyed
                    ? "The feature \"\(id.name)\" needs a key, as in \(id.name):\(definition.exampleKeys.first ?? "42")."
                    : "The feature \"\(id.name)\" takes no key.")
        }
        return id
    }

    /// Refuses a path whose parameter is no feature instance that the server could have.
    static func checkFeature(_ features: FeatureRegistry) -> Route.PathCheck {
        { incoming throws(Problem) in _ = try incoming.feature(features) }
    }

    /// Refuses a request that names another session with `MVI-Session` than its credential's.
    func checkIsMeant(for session: Session) throws(Problem) {
        guard fields.contains("mvi-session"), !fields.list(of: "mvi-session").elementsEqual(session.id.utf8) else {
            return
        }
        throw Problem(.otherSession, "The request is meant for another session than that of its credential.")
    }

    /// True if a body follows the head.
    var hasBody: Bool {
        if fields.contains("transfer-encoding") { return true }
        guard let length = fields["content-length"] else { return false }
        return length != "0"
    }

    /// Refuses a body that says it is too large; one that does not say is cut off by the HTTP layer.
    func checkSize(limit: Int) throws(Problem) {
        guard let digits = fields.bytes(of: "content-length"), (digits.decimal ?? .max) > limit else { return }
        let length = String(decoding: digits.prefix(20), as: UTF8.self)
        throw Problem(
            .bodyTooLarge,
            limit == 0
                ? "The request has a body of \(length) bytes; none is taken here."
                : "The body has \(length) bytes; at most \(limit) are taken.")
    }
}

/// The query of a request's target, as forms write it: `feature=a&feature=b%3A7`.
package struct QueryItems {
    private let items: [ArraySlice<UInt8>]

    package init(_ query: [UInt8]?) { items = (query ?? []).split(separator: UInt8(ascii: "&")) }

    /// Every value of that name, in order. One whose encoding is broken is there, and nil; so is one without `=`.
    package func values(_ name: String) -> [String?] {
        var values: [String?] = []
        for item in items {
            let end = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
            guard Self.names(item[..<end], name) else { continue }
            values.append(
                end < item.endIndex ? PercentEncoding.decode(item[(end + 1)...], plusIsSpace: true) : nil)
        }
        return values
    }

    /// Without making a text of a name that is written as it is, as nearly all are.
    private static func names(_ bytes: ArraySlice<UInt8>, _ name: String) -> Bool {
        if bytes.elementsEqual(name.utf8) { return !bytes.contains(UInt8(ascii: "+")) }
        guard bytes.contains(UInt8(ascii: "%")) || bytes.contains(UInt8(ascii: "+")) else { return false }
        return PercentEncoding.decode(bytes, plusIsSpace: true) == name
    }
}
