import Locking
import MVITesting

@testable import MVIClient

/// A storage of waiting intents that outlives clients.
final class KeptText: PendingStorage {
    struct Broken: Error {}

    private let text: Lock<String?>
    let saves = Collected<String>()
    private let fails: Bool

    /// - Parameter fails: true if it can be neither read nor written.
    init(_ text: String? = nil, fails: Bool = false) {
        self.text = Lock(text)
        self.fails = fails
    }

    func load() async throws -> String? {
        if fails { throw Broken() }
        return text.withLock(\.self)
    }

    func save(_ text: String) async throws {
        if fails { throw Broken() }
        self.text.withLock { $0 = text }
        saves.append(text)
    }

    /// The amounts that it has.
    var amounts: [String] {
        KeptIntent.list(in: text.withLock(\.self) ?? "").map { String(decoding: $0.body, as: UTF8.self) }
    }
}
