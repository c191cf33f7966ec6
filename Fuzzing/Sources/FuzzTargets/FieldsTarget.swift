import MVIServer
import MicroHTTP
import Networks
import Sessions

extension FuzzTarget {
    /// A head's fields, one per line as `Name: value`: a second reader, which works on bytes, gives the same results.
    static let fields = FuzzTarget(name: "fields") { input throws(BrokenProperty) in
        let fields = HeaderFields(lines: input[...])
        guard HeadCheck.fields(fields) == nil else { return }
        try host(fields)
        for isHTTP10 in [false, true] { try framing(fields, isHTTP10: isHTTP10) }
        try tags("if-match", fields)
        try tags("if-none-match", fields)
        try preferences(fields)
        try intentName(fields)
        try cookie(fields)
        try mediaTypes(fields)
        try clientAddress(fields)
    }

    private static func clientAddress(_ fields: HeaderFields) throws(BrokenProperty) {
        guard let proxy = PeerAddress("10.0.0.1"), let foreign = PeerAddress("192.0.2.1"),
            let range = AddressRange("10.0.0.0/8")
        else { throw BrokenProperty("no addresses") }
        let rule = ClientAddress(trusted: [range])
        try hold(rule.of(fields, from: foreign) == foreign, "an untrusted peer names another client")
        let found = rule.of(fields, from: proxy)
        guard found != proxy else { return }
        let (forwarded, listed) = (
            fields.occurrences(of: "forwarded").count, fields.occurrences(of: "x-forwarded-for").count
        )
        try hold(forwarded + listed > 0, "a client without a reported address is \(found)")
        try hold(PeerAddress("\(found)") == found, "an address is read otherwise: \(found)")
    }

    private static func host(_ fields: HeaderFields) throws(BrokenProperty) {
        guard let target = Array("http://example.com:80/".utf8).withUnsafeBufferPointer({ RequestTarget($0) }) else {
            throw BrokenProperty("an absolute target is not recognized")
        }
        let (count, host) = fields.occurrences(of: "host")
        if HeadCheck.host(fields, target: target, isHTTP10: false) == nil {
            try hold(count == 1 && host?.caseless == "example.com:80", "another host is used for the target's")
        }
        var path = target
        path.authority = nil
        if HeadCheck.host(fields, target: path, isHTTP10: false) == nil {
            let isNone = host?.contains { $0 <= 0x20 || "/?#@\"\\".utf8.contains($0) } ?? true
            try hold(count == 1 && !isNone, "an invalid host is accepted")
        }
    }

    private static func framing(_ fields: HeaderFields, isHTTP10: Bool) throws(BrokenProperty) {
        guard case .success(let framing) = HeadCheck.framing(fields, isHTTP10: isHTTP10) else { return }
        let (lengths, length) = fields.occurrences(of: "content-length")
        let (codings, coding) = fields.occurrences(of: "transfer-encoding")
        switch framing {
        case .none: try hold(lengths + codings == 0, "a request with a length has no body")
        case .length(let count):
            try hold(lengths == 1 && codings == 0, "a length is ambiguous")
            let digits = (length ?? []).drop { $0 == 0x30 }
            try hold(count == 0 ? digits.isEmpty : digits.elementsEqual("\(count)".utf8), "a length changes")
        case .chunked:
            try hold(codings == 1 && lengths == 0 && !isHTTP10, "a coding is ambiguous")
            try hold(coding?.caseless == "chunked", "another coding is read as chunked")
        }
    }

    private static func tags(_ name: StaticString, _ fields: HeaderFields) throws(BrokenProperty) {
        guard let result = EntityTags(fields.values(of: name).joined(separator: ",")),
            case .list(let tags) = result
        else { return }
        try hold(!tags.isEmpty, "a list of entity tags is empty")
        let written = tags.map { "\($0.isWeak ? "W/" : "")\"\(String(decoding: $0.opaque, as: UTF8.self))\"" }
            .joined(separator: ", ")
        try hold(EntityTags(written) == result, "entity tags change when they are written: \(written)")
    }

    private static func preferences(_ fields: HeaderFields) throws(BrokenProperty) {
        let found = Preferences(fields)
        var written: [String] = []
        if found.respondAsync { written.append("respond-async") }
        if let form = found.return { written.append("return=\(form.rawValue)") }
        if let wait = found.wait { written.append("wait=\"\(wait)\"") }
        if found.problem { written.append("problem") }
        let again = Preferences(HeaderFields([("Prefer", written.joined(separator: ", "))]))
        try hold(again == found, "preferences change when they are written: \(written)")
        try hold((found.wait ?? 0) >= 0, "a wait is below zero")
    }

    private static func intentName(_ fields: HeaderFields) throws(BrokenProperty) {
        guard case .success(let name?) = attempt({ () throws(Problem) in try IntentName.read(fields) }) else { return }
        let written: [(name: String, value: String)]
        switch name {
        case .key(let key):
            try hold(1...255 ~= key.utf8.count && key.utf8.allSatisfy { 0x20...0x7E ~= $0 }, "'\(key)' is a key")
            let escaped = key.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            written = [("Idempotency-Key", "\"\(escaped)\"")]
        case .sequence(let number, let epoch):
            try hold(1...UInt64(Int64.max) ~= number, "\(number) is a number")
            let isEpoch = 1...128 ~= epoch.utf8.count && epoch.utf8.allSatisfy { 0x21...0x7E ~= $0 }
            try hold(isEpoch, "'\(epoch)' is an epoch")
            written = [("Intent-Seq", "\(number)"), ("Intent-Epoch", epoch)]
        }
        let again = attempt { () throws(Problem) in try IntentName.read(HeaderFields(written)) }
        guard case .success(name) = again else { throw BrokenProperty("an intent's name changes: \(written)") }
    }

    /// Finds the first pair of that name on bytes and compares it.
    private static func cookie(_ fields: HeaderFields) throws(BrokenProperty) {
        for isSecure in [false, true] {
            let policy = CookiePolicy(
                isSecure: isSecure, sessionLife: .seconds(60), credentialLife: .seconds(60))
            let opening = Array("\(policy.name)=".utf8)
            let pairs = fields.values(of: "cookie").flatMap { $0.utf8.split(separator: UInt8(ascii: ";")) }
            let pair = pairs.lazy.map { $0.drop { $0 == 0x20 } }.first { $0.starts(with: opening) }
            let expected = pair.map { Array($0.dropFirst(opening.count)) }
            let found = policy.value(fields).map { Array($0.utf8) }
            try hold(found == expected, "the cookie is read in two ways")
        }
    }

    private static func mediaTypes(_ fields: HeaderFields) throws(BrokenProperty) {
        if case .success = attempt({ () throws(Problem) in try MediaTypes.checkJSON(fields) }) {
            let (count, type) = fields.occurrences(of: "content-type")
            let essence = (type ?? []).prefix { $0 != UInt8(ascii: ";") }.caseless
            try hold(count == 1 && essence == "application/json", "\(essence) is accepted as JSON")
        }
        let accepts = MediaTypes.accepts(type: "text", subtype: "event-stream", fields)
        let values = fields.values(of: "accept").map { $0.lowercased() }
        let names = ["text/event-stream", "text/*", "*/*"].filter { name in values.contains { $0.contains(name) } }
        let isEmpty = values.allSatisfy { $0.allSatisfy { $0 == "," } }
        try hold(!accepts || isEmpty || !names.isEmpty, "\(values) does not name an event stream")
    }
}

extension ArraySlice<UInt8> {
    /// The text without blanks at its ends and with ASCII letters in lower case.
    fileprivate var caseless: String {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        let trimmed = drop(while: isBlank).reversed().drop(while: isBlank).reversed()
        return String(decoding: trimmed.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}

extension HeaderFields {
    /// Creates the fields of lines such as `Name: value` as the head's reader does: without blanks around the value.
    /// Lines without a colon are ignored.
    init(lines: ArraySlice<UInt8>) {
        var (bytes, entries): ([UInt8], [Entry]) = ([], [])
        for line in lines.split(separator: 0x0A) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
            let value = Array(line[(colon + 1)...].drop(while: isBlank).reversed().drop(while: isBlank).reversed())
            let start = UInt32(bytes.count)
            bytes += line[..<colon]
            let middle = UInt32(bytes.count)
            bytes += value
            entries.append(
                Entry(nameStart: start, nameEnd: middle, valueStart: middle, valueEnd: UInt32(bytes.count)))
        }
        self.init(bytes: bytes, entries: entries)
    }
}
