import Foundation
import MVIServer
import Testing

@testable import JWTAuthentication

@Suite("Keys from a file")
struct KeyFileTests {
    private func withFolder(_ test: (_ folder: String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("jwt-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await test(folder)
    }

    private func write(_ content: [UInt8], to path: String, isAtomic: Bool = true) throws {
        try Data(content).write(to: URL(fileURLWithPath: path), options: isAtomic ? .atomic : [])
    }

    @Test("a file is checked once a second, and read again after it was replaced")
    func replacement() async throws {
        let (old, new) = (TestIssuer(key: try .p256(), id: "old"), TestIssuer(key: try .p256(), id: "new"))
        try await withFolder { folder in
            let path = folder + "/keys.json"
            try write(keySet(old.key.jwk("old")), to: path)
            let world = TestWorld()
            let authenticator = try await world.authenticator(.file(path))
            #expect(try await authenticator.verdict(old.token()).isAccepted)
            // The same number of bytes, another file.
            try write(keySet(new.key.jwk("new")), to: path)
            world.advance(by: .milliseconds(999))
            #expect(try await authenticator.verdict(old.token()).isAccepted)
            world.advance(by: .milliseconds(1))
            #expect(try await authenticator.verdict(old.token()).code == .rejected)
            #expect(try await authenticator.verdict(new.token()).isAccepted)
        }
    }

    @Test("an unchanged file is read once")
    func unchanged() async throws {
        let issuer = TestIssuer(key: try .p256())
        try await withFolder { folder in
            let path = folder + "/keys.json"
            try write(keySet(issuer.key.jwk("key-1")), to: path)
            let file = KeyFile(path)
            guard case .document(let first) = try file.read(false) else { throw Unexpected() }
            #expect(first == keySet(issuer.key.jwk("key-1")))
            guard case .unchanged = try file.read(false) else { throw Unexpected() }
            // A rejected file is read again although it is unchanged.
            guard case .document = try file.read(true) else { throw Unexpected() }
            try write(keySet(issuer.key.jwk("key-10")), to: path, isAtomic: false)
            guard case .document(let second) = try file.read(false) else { throw Unexpected() }
            #expect(second == keySet(issuer.key.jwk("key-10")))
        }
    }

    @Test("if the file is missing or invalid, the last keys stay in use until it is valid again")
    func failure() async throws {
        let (old, new) = (TestIssuer(key: try .p256(), id: "old"), TestIssuer(key: try .p256(), id: "new"))
        try await withFolder { folder in
            let path = folder + "/keys.json"
            try write(keySet(old.key.jwk("old")), to: path)
            let world = TestWorld()
            let authenticator = try await world.authenticator(.file(path))
            try FileManager.default.removeItem(atPath: path)
            for _ in 0..<3 {
                world.advance(by: .seconds(1))
                #expect(try await authenticator.verdict(old.token()).isAccepted)
            }
            #expect(world.log.count("it cannot be opened (errno 2)") == 1)
            try write(Array("{\"keys\":".utf8), to: path)
            world.advance(by: .seconds(1))
            #expect(try await authenticator.verdict(old.token()).isAccepted)
            #expect(try await authenticator.verdict(new.token()).code == .unavailable)
            #expect(world.log.count("the key set is rejected") == 1)
            try write(keySet(new.key.jwk("new")), to: path)
            world.advance(by: .seconds(1))
            #expect(try await authenticator.verdict(new.token()).isAccepted)
            #expect(try await authenticator.verdict(old.token()).code == .rejected)
        }
    }

    @Test("a file without a key set is refused at startup with the reason")
    func start() async throws {
        let key = try TestKey.p256()
        try await withFolder { folder in
            let path = folder + "/keys.json"
            func refusal(_ path: String) async throws -> String? {
                do {
                    _ = try await TestWorld().authenticator(.file(path))
                    return nil
                } catch let error as SettingError {
                    return error.description
                }
            }
            #expect(try await refusal(path)?.contains("it cannot be opened (errno 2)") == true)
            #expect(try await refusal(folder)?.contains("it is not a regular file") == true)
            #expect(mkfifo(folder + "/pipe", 0o600) == 0)
            #expect(try await refusal(folder + "/pipe")?.contains("it is not a regular file") == true)
            try write([], to: path)
            #expect(try await refusal(path)?.hasPrefix("--jwt-keys cannot be '\(path)'") == true)
            try write(keySet(), to: path)
            #expect(try await refusal(path)?.contains("it has no key that can be used") == true)
            try write(keySet(key.jwk("key-1")) + [UInt8](repeating: 0x20, count: 256 * 1024), to: path)
            #expect(try await refusal(path)?.contains("it has more than 262144 bytes") == true)
            try write(keySet(key.jwk("key-1")), to: path)
            #expect(try await refusal(path) == nil)
        }
    }

    private struct Unexpected: Error {}
}
