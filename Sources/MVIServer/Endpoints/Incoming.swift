import MVI
import MicroHTTP
import Sessions

/// A request's head with the range of the path's parameter.
struct Incoming: Sendable {
    let head: RequestHead
    /// The range of the parameter in the path.
    let parameter: Range<Int>
    var sender = RequestSender.client

    var fields: HeaderFields { head.fields }

    /// True for a `HEAD` request.
    var isHead: Bool { head.method == Route.Method.head.rawValue }

    /// The decoded parameter; nil if it is malformed.
    var parameterText: String? { PercentEncoding.decode(head.path[parameter]) }

    /// The decoded two parameters of a path; nil for malformed ones.
    var parameterTexts: (first: String?, second: String?) {
        let slash = UInt8(ascii: "/")
        let both = head.path[parameter]
        let first = both.prefix { $0 != slash }
        let second = both.lastIndex(of: slash).map { both[($0 + 1)...] } ?? []
        return (PercentEncoding.decode(first), PercentEncoding.decode(second))
    }

    /// Returns the feature instance of the path. Throws if the server has no such feature.
    func feature(_ features: FeatureRegistry) throws(Problem) -> FeatureID {
        let raw = head.path[parameter]
        // Nearly all ids have no escapes: without escapes the text is an id or invalid.
        if let id = FeatureID(raw), features.definition(for: id) != nil { return id }
        return try Self.feature(parameterText, features)
    }

    static func feature(_ text: String?, _ features: FeatureRegistry) throws(Problem) -> FeatureID {
        guard let text, let id = FeatureID(text) else {
            throw Problem(
                .featureNotFound,
                "Not a feature id. Its form is `name` or `name:key`, as in counter or order:42.")
        }
        guard features.definition(for: id) != nil else {
            guard let definition = features[id.name] else {
                // Features with access rules are not listed.
                let names = features.definitions.filter { $0.rule == nil }.map(\.name).joined(separator: ", ")
                throw Problem(
                    .featureNotFound,
                    "There is no feature \"\(id.name)\"." + (names.isEmpty ? "" : " There are: \(names)."))
            }
            throw Problem(
                .featureNotFound,
                definition.isKeyed
                    ? "The feature \"\(id.name)\" needs a key, as in \(id.name):\(definition.exampleKeys.first ?? "42")."
                    : "The feature \"\(id.name)\" has no keys.")
        }
        return id
    }

    /// Refuses a path whose parameter is not a possible feature instance.
    static func checkFeature(_ features: FeatureRegistry) -> Route.PathCheck {
        { incoming throws(Problem) in _ = try incoming.feature(features) }
    }

    /// Refuses a request whose `MVI-Session` names another session than its credential.
    func checkIsMeant(for session: Session) throws(Problem) {
        guard fields.contains("mvi-session"), !fields.list(of: "mvi-session").elementsEqual(session.id.utf8) else {
            return
        }
        throw Problem(.otherSession, "The request names another session than its credential.")
    }

    /// True if the request has a body.
    var hasBody: Bool {
        if fields.contains("transfer-encoding") { return true }
        guard let length = fields["content-length"] else { return false }
        return length != "0"
    }

    /// Refuses a body whose declared size is too large. The HTTP layer limits bodies without one.
    func checkSize(limit: Int) throws(Problem) {
        guard let digits = fields.bytes(of: "content-length"), (digits.decimal ?? .max) > limit else { return }
        let length = String(decoding: digits.prefix(20), as: UTF8.self)
        throw Problem(
            .bodyTooLarge,
            limit == 0
                ? "The request has a body of \(length) bytes; this endpoint accepts none."
                : "The body has \(length) bytes; at most \(limit) are allowed.")
    }
}

/// The query of a request's target, in the form of HTML forms: `feature=a&feature=b%3A7`.
package struct QueryItems {
    private let items: [ArraySlice<UInt8>]

    package init(_ query: [UInt8]?) { items = (query ?? []).split(separator: UInt8(ascii: "&")) }

    /// Returns all values of a name, in order; nil for a malformed value and for one without `=`.
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

    /// Refuses an unknown name: a misspelled parameter would change the answer unnoticed, as `feature[]=a` every store.
    func checkNames(_ known: [String]) throws(Problem) {
        for item in items {
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            guard !known.contains(where: { Self.names(name, $0) }) else { continue }
            let text = PercentEncoding.decode(name, plusIsSpace: true) ?? String(decoding: name, as: UTF8.self)
            let list = known.map { "`\($0)`" }.joined(separator: ", ")
            throw Problem(
                .badRequest,
                "The query has an unknown parameter \"\(text.prefix(64).description.withoutInvisibles)\"; "
                    + (known.isEmpty ? "this path has none." : "this path has \(list)."))
        }
    }

    /// Compares a name without creating a string if it has no escapes, as nearly all.
    private static func names(_ bytes: ArraySlice<UInt8>, _ name: String) -> Bool {
        if bytes.elementsEqual(name.utf8) { return !bytes.contains(UInt8(ascii: "+")) }
        guard bytes.contains(UInt8(ascii: "%")) || bytes.contains(UInt8(ascii: "+")) else { return false }
        return PercentEncoding.decode(bytes, plusIsSpace: true) == name
    }
}
