import LibCrypto
import MVI
import SQLite
import SessionJournal

/// A subject whose data was deleted, as an HMAC (RFC 2104) with a key of its own: it names nobody, but a restored backup
/// can be searched for the subject.
///
/// Kept in the journal, so that each backup has those before it, and in a file beside the journal, so that a restore of an
/// older backup finds the later ones.
struct ForgottenSubject: Equatable {
    /// The time since 1970 at which the data was deleted.
    let time: Duration
    let key: [UInt8]
    let code: [UInt8]

    init(_ subject: Subject, at time: Duration) {
        var generator = SystemRandomNumberGenerator()
        key = (0..<32).map { _ in .random(in: .min ... .max, using: &generator) }
        code = HMACKey(key).code(for: Self.message(subject))
        self.time = time
    }

    private static func message(_ subject: Subject) -> [UInt8] {
        Array(subject.issuer.utf8) + [0] + Array(subject.id.utf8)
    }

    func isOf(_ subject: Subject) -> Bool { HMACKey(key).isCode(code, for: Self.message(subject)) }

    // MARK: The file

    /// A line of `forgotten.jsonl`, with its end.
    var line: [UInt8] {
        let time = time.nanoseconds
        return Array("{\"time\":\(time),\"key\":\"\(Self.hex(key))\",\"code\":\"\(Self.hex(code))\"}\n".utf8)
    }

    /// Nil for a line that this program did not write.
    init?(line: some StringProtocol) {
        let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
        guard parts.count == 11, parts[1] == "time", parts[3] == "key", parts[7] == "code",
            let time = Int64(parts[2].dropFirst().dropLast()), let key = Self.bytes(parts[5]),
            let code = Self.bytes(parts[9])
        else { return nil }
        (self.time, self.key, self.code) = (.nanoseconds(time), key, code)
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static func bytes(_ hex: some StringProtocol) -> [UInt8]? {
        let digits = hex.compactMap(\.hexDigitValue)
        guard digits.count == 64, hex.count == 64 else { return nil }
        return stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    fileprivate init(time: Duration, key: [UInt8], code: [UInt8]) {
        (self.time, self.key, self.code) = (time, key, code)
    }
}

extension Connection {
    /// Notes deleted subjects.
    mutating func note(_ subjects: [ForgottenSubject]) throws {
        for subject in subjects {
            try execute(
                "INSERT INTO forgotten (time, key, code) VALUES (?, ?, ?)",
                [.time(subject.time), .blob(subject.key), .blob(subject.code)])
        }
    }

    /// Deletes the sessions that deleted subjects had before, inside a transaction. Returns their number.
    mutating func forgetAgain(_ others: [ForgottenSubject]) throws -> Int {
        let known = try query("SELECT time, key, code FROM forgotten", []) { row in
            ForgottenSubject(time: try row.time(0), key: try row.blob(1), code: try row.blob(2))
        }
        let new = others.filter { !known.contains($0) }
        try note(new)
        let subjects = try query("SELECT DISTINCT issuer, subject FROM sessions WHERE subject IS NOT NULL", []) { row in
            try row.subject(0)
        }
        var count = 0
        for case let subject? in subjects {
            let last = (known + new).filter { $0.isOf(subject) }.map(\.time).max()
            guard let last else { continue }
            let keys = try query(
                "SELECT key FROM sessions WHERE subject = ? AND issuer = ? AND created <= ?",
                [.text(subject.id), .text(subject.issuer), .time(last)]
            ) { row in try row.integer(0) }
            for key in keys { try deleteAll(of: key) }
            count += keys.count
        }
        return count
    }

    private mutating func deleteAll(of session: Int64) throws {
        try execute("DELETE FROM stores WHERE \(Self.ofSession)", [.integer(session)])
        for table in ["labels", "receipts", "recordings", "set_aside", "reminders", "credentials"] {
            try execute("DELETE FROM \(table) WHERE session = ?", [.integer(session)])
        }
        try execute("DELETE FROM sessions WHERE key = ?", [.integer(session)])
    }
}
