import Foundation
import Locking
import MVI
import MVIServer

@testable import JWTAuthentication

/// Writes what the tests sign in with, and each verdict, to the file that `MVI_JWT_CASES` names: `script/test --oracle` asks
/// another library about the same tokens (`Tests/Oracle`).
enum CaseLog {
    /// A line of the file.
    private struct Case: Encodable {
        /// The key set as it was published, or the secret.
        let keys: String?
        let secret: [UInt8]?
        let token: String
        let isAccepted: Bool
        let detail: String?
    }

    private static let file: Lock<FileHandle>? = ProcessInfo.processInfo.environment["MVI_JWT_CASES"].flatMap { path in
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        return FileHandle(forWritingAtPath: path).map { Lock($0) }
    }

    static func add(_ token: String, _ verdict: Verdict, keys: [UInt8]?, secret: JWTSecret?) throws {
        guard let file, keys != nil || secret != nil, verdict.code != .unavailable else { return }
        let line = try JSONEncoder().encode(
            Case(
                keys: keys.map { String(decoding: $0, as: UTF8.self) }, secret: secret?.bytes, token: token,
                isAccepted: verdict.isAccepted, detail: verdict.detail))
        file.withLock { $0.write(line + Data("\n".utf8)) }
    }
}

/// An authenticator whose verdicts are noted with the keys that it has.
struct TestAuthenticator: Sendable {
    let base: JWTAuthenticator
    let world: TestWorld
    var secret: JWTSecret?

    func authenticate(_ proof: IdentityProof) async throws -> Principal { try await base.authenticate(proof) }

    /// Returns true if it takes a token, and if not, why.
    func verdict(_ token: String?) async throws -> Verdict {
        let before = world.fetched
        let verdict = try await base.verdict(token)
        let keys = secret == nil ? world.fetched : nil
        // While keys are replaced nobody can tell which the verdict is by.
        guard before == nil || before == keys else { return verdict }
        if let token { try CaseLog.add(token, verdict, keys: keys, secret: secret) }
        return verdict
    }
}
