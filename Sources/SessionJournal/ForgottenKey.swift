import LibCrypto
import MVI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The installation's key of deleted subjects, in a file that is in no backup. Who has it beside a list can try names.
package struct ForgottenKey: Sendable {
    /// The purpose of a code.
    private enum Purpose: UInt8 { case id, subject, row, seal }

    private static let idLength = 8
    private let hmac: HMACKey
    /// Names the key in rows, so that a list of another key is noticed.
    let id: [UInt8]

    package init(_ secret: [UInt8]) {
        hmac = HMACKey(secret)
        id = Array(hmac.code(for: [Purpose.id.rawValue]).prefix(Self.idLength))
    }

    private func code(_ purpose: Purpose, _ bytes: [UInt8]) -> [UInt8] { hmac.code(for: [purpose.rawValue] + bytes) }

    /// Returns a subject that was deleted.
    package func subject(_ subject: Subject, at time: Duration) -> ForgottenSubject {
        row(code(of: subject), at: time)
    }

    /// A row of no subject. A database has it, so that a server with another key notices that before it deletes anything.
    package var mark: ForgottenSubject { row(code(.row, []), at: .zero) }

    private func row(_ code: [UInt8], at time: Duration) -> ForgottenSubject {
        let name = self.code(.row, Array("\(time.nanoseconds) ".utf8) + code)
        return ForgottenSubject(time: time, key: id + name.prefix(16), code: code)
    }

    func code(of subject: Subject) -> [UInt8] { code(.subject, ForgottenSubject.message(subject)) }

    /// Returns the same subject with its own key sealed.
    package func sealed(_ subject: ForgottenSubject) -> ForgottenSubject {
        guard subject.isPlain else { return subject }
        return ForgottenSubject(time: subject.time, key: id + mask(subject.key, subject.code), code: subject.code)
    }

    /// Returns the own key of a subject that was sealed; nil for others.
    func opened(_ subject: ForgottenSubject) -> HMACKey? {
        if subject.isPlain { return HMACKey(subject.key) }
        guard isOwn(subject), subject.key.count == Self.idLength + 32 else { return nil }
        return HMACKey(mask(Array(subject.key.dropFirst(Self.idLength)), subject.code))
    }

    private func mask(_ key: [UInt8], _ code: [UInt8]) -> [UInt8] {
        zip(key, self.code(.seal, code)).map { $0 ^ $1 }
    }

    /// False for a row that another installation's key made.
    package func isOwn(_ subject: ForgottenSubject) -> Bool { subject.isPlain || subject.key.starts(with: id) }

    // MARK: The file

    /// Returns the key of a file; nil without one. Blocks on the disk.
    static func read(_ path: String) throws(StoreError) -> ForgottenKey? {
        guard let bytes = try PrivateFile.read(path) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let secret = ForgottenSubject.bytes(text.prefix { $0 != "\n" }), secret.count == 32 else {
            throw StoreError(.invalid, "\(path) is no key of deleted subjects: it should have 64 hexadecimal digits.")
        }
        return ForgottenKey(secret)
    }

    /// Makes a key and its file, which must not exist, durably and for its owner only.
    static func make(_ path: String) throws(StoreError) {
        var generator = SystemRandomNumberGenerator()
        let secret: [UInt8] = (0..<32).map { _ in .random(in: .min ... .max, using: &generator) }
        try PrivateFile.write(Array("\(ForgottenSubject.hex(secret))\n".utf8), to: path)
    }
}

/// Finds the deleted ones among the subjects of sessions: one HMAC for each, except for rows of older releases.
package struct ForgottenFinder: Sendable {
    private let key: ForgottenKey
    private var times: [[UInt8]: Duration] = [:]
    private var own: [(time: Duration, key: HMACKey, code: [UInt8])] = []

    package init(_ subjects: some Sequence<ForgottenSubject>, _ key: ForgottenKey) {
        self.key = key
        for subject in subjects {
            if let opened = key.opened(subject) {
                own.append((subject.time, opened, subject.code))
            } else if key.isOwn(subject) {
                times[subject.code] = max(times[subject.code] ?? .zero, subject.time)
            }
        }
    }

    /// True without deleted subjects.
    package var isEmpty: Bool { times.isEmpty && own.isEmpty }

    /// The time of a subject's last deletion; nil if there was none.
    package func time(of subject: Subject) -> Duration? {
        let found = times.isEmpty ? nil : times[key.code(of: subject)]
        let message = ForgottenSubject.message(subject)
        return ([found] + own.map { $0.key.isCode($0.code, for: message) ? $0.time : nil }).compactMap { $0 }.max()
    }
}
