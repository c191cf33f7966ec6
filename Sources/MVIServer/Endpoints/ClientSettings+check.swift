import MVI

extension ClientSettings {
    /// Checks the values of a body: by their form, not by the time zones that this machine knows. Otherwise a phone with newer
    /// data than the server's would get no session.
    convenience init?(locale: String?, checked timeZone: String?) throws(Problem) {
        if let locale, !LanguageTag.isWellFormed(locale) {
            throw Problem(
                .badRequest,
                "`locale` must be a language tag (BCP 47) such as \"de-DE\", of at most \(LanguageTag.longest) characters."
            )
        }
        if let timeZone, !TimeZoneName.isWellFormed(timeZone) {
            throw Problem(
                .badRequest,
                "`timeZone` must be the name of an IANA time zone such as \"Europe/Berlin\", of at most "
                    + "\(TimeZoneName.longest) characters.")
        }
        self.init(locale: locale, timeZone: timeZone)
    }
}

/// The syntax of language tags (RFC 5646 section 2.1).
enum LanguageTag {
    /// More than the longest one that registered subtags make without extensions (section 4.4.1).
    static let longest = 64

    /// The irregular tags of section 2.1, which the syntax does not cover.
    private static let irregular: Set<String> = [
        "en-gb-oed", "i-ami", "i-bnn", "i-default", "i-enochian", "i-hak", "i-klingon", "i-lux", "i-mingo", "i-navajo",
        "i-pwn", "i-tao", "i-tay", "i-tsu", "sgn-be-fr", "sgn-be-nl", "sgn-ch-de",
    ]

    static func isWellFormed(_ text: String) -> Bool {
        guard text.utf8.count <= longest else { return false }
        let lowercase = text.utf8.map { 65...90 ~= $0 ? $0 | 32 : $0 }
        if irregular.contains(String(decoding: lowercase, as: UTF8.self)) { return true }
        var rest = lowercase.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)[...]
        guard rest.allSatisfy({ 1...8 ~= $0.count && $0.allSatisfy { isLetter($0) || isDigit($0) } }) else {
            return false
        }
        func take(_ isMeant: (ArraySlice<UInt8>) -> Bool) -> Bool {
            guard let next = rest.first, isMeant(next) else { return false }
            rest.removeFirst()
            return true
        }
        func letters(_ count: ClosedRange<Int>) -> (ArraySlice<UInt8>) -> Bool {
            { count ~= $0.count && $0.allSatisfy(isLetter) }
        }
        if rest.first != [UInt8(ascii: "x")] {
            guard take(letters(2...8)) else { return false }
            // Extended languages follow a language of two or three letters.
            if text.utf8.prefix(4).contains(UInt8(ascii: "-")) {
                for _ in 0..<3 { if !take(letters(3...3)) { break } }
            }
            _ = take(letters(4...4))
            _ = take(letters(2...2)) || take { $0.count == 3 && $0.allSatisfy(isDigit) }
            while take({ $0.count >= 5 || $0.count == 4 && isDigit($0[$0.startIndex]) }) {}
            while take({ $0.count == 1 && $0 != [UInt8(ascii: "x")] }) {
                guard take({ $0.count >= 2 }) else { return false }
                while take({ $0.count >= 2 }) {}
            }
        }
        guard take({ $0 == [UInt8(ascii: "x")] }) else { return rest.isEmpty }
        return !rest.isEmpty
    }

    private static func isLetter(_ byte: UInt8) -> Bool { 97...122 ~= byte }
    private static func isDigit(_ byte: UInt8) -> Bool { 48...57 ~= byte }
}

/// The syntax of time zones' names: `Area/Location`, by the rules of the IANA database's file `theory.html`.
enum TimeZoneName {
    static let longest = 64

    static func isWellFormed(_ text: String) -> Bool {
        guard 1...longest ~= text.utf8.count else { return false }
        return text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { part in
            guard let first = part.first, isLetter(first) else { return false }
            return part.allSatisfy { isLetter($0) || 48...57 ~= $0 || Array("_-+".utf8).contains($0) }
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { 97...122 ~= byte | 32 }
}
