import JWTAuthentication
import MVI
import MVIServer

extension FuzzTarget {
    /// A token in the first line, or its parts in plain text behind `parts `, and a key set in the others. No signature
    /// is verified: what an issuer signs is checked as strictly.
    static let jwt = FuzzTarget(name: "jwt") { input throws(BrokenProperty) in
        let lines = input.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
        try token(text(lines[0]))
        if lines.count > 1 { try keys(Array(lines[1])) }
    }

    private static func text(_ line: ArraySlice<UInt8>) -> String {
        let mark = Array("parts ".utf8)
        guard line.starts(with: mark) else { return String(decoding: line, as: UTF8.self) }
        let parts = line.dropFirst(mark.count).split(separator: UInt8(ascii: "~"), omittingEmptySubsequences: false)
        return parts.map(base64URL).joined(separator: ".")
    }

    private static func base64URL(_ bytes: ArraySlice<UInt8>) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        var (text, bits, count) = ("", 0, 0)
        for byte in bytes {
            (bits, count) = (bits << 8 | Int(byte), count + 8)
            while count >= 6 {
                count -= 6
                text.append(letters[bits >> count & 63])
            }
            bits &= 63
        }
        if count > 0 { text.append(letters[bits << (6 - count) & 63]) }
        return text
    }

    private static func token(_ text: String) throws(BrokenProperty) {
        guard case .success(let token) = attempt({ () throws(AuthenticationError) in try CompactToken(text) }) else {
            return
        }
        try hold(text.utf8.split(separator: 0x2E, omittingEmptySubsequences: false).count == 3, "not three parts")
        let all = Set(SignatureAlgorithm.allCases)
        if case .success(let header) = attempt({ () throws(AuthenticationError) in
            try TokenHeader(token.header, permitted: all.subtracting([.hs256]), types: nil)
        }) {
            try hold(header.algorithm != .hs256, "an algorithm is not one of the settings")
            for name in ["crit", "jku", "jwk", "x5u", "x5c"] {
                try hold(token.header[ClaimName(stringLiteral: name)] == nil, "\(name) is accepted")
            }
        }
        let rules = ClaimRules(issuer: "i", audiences: ["a"], leeway: .seconds(30))
        let now = Timestamp(sinceEpoch: .seconds(1_000))
        guard case .success(let claims) = attempt({ () throws(AuthenticationError) in try token.claims() }),
            case .success(let principal) = attempt({ () throws(AuthenticationError) in
                try rules.principal(claims, now: now)
            })
        else { return }
        try hold(principal.issuer == "i" && !principal.subject.isEmpty, "a principal of nobody: \(principal)")
        try hold(principal.expiry.map { $0 > now } ?? false, "an expired token is accepted: \(principal)")
    }

    private static func keys(_ bytes: [UInt8]) throws(BrokenProperty) {
        let algorithms = Set(SignatureAlgorithm.allCases)
        switch attempt({ () throws(KeySetDocument.Unusable) in try KeySetDocument.read(bytes, for: algorithms) }) {
        case .success(let document):
            try hold((1...100).contains(document.names.count), "\(document.names.count) keys are used")
            for line in document.names + document.leftOut {
                try hold(!line.contains(where: \.isNewline), "a key forges a line of the log: \(line)")
            }
        case .failure(let failure):
            try hold(!failure.description.contains(where: \.isNewline), "a key forges a line: \(failure)")
        }
    }
}
