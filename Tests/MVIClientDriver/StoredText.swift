import MVIClient

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A file with one text, for a client that another run of the driver continues.
struct StoredText: CredentialStorage, PendingStorage {
    let path: String

    func load() -> String? {
        (try? Data(contentsOf: URL(filePath: path))).map { String(decoding: $0, as: UTF8.self) }
    }

    func save(_ text: String?) throws {
        guard let text else { return try FileManager.default.removeItem(atPath: path) }
        try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
    }

    func save(_ text: String) throws { try save(.some(text)) }
}
