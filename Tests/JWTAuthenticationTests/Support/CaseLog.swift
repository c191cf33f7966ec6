import Foundation
import Locking
import MVI
import MVIServer

@testable import JWTAuthentication

/// Writes each tested token, its keys and the verdict to the file in `MVI_JWT_CASES`: `script/test --oracle` checks the
/// same tokens with another library (`Tests/Oracle`).
enum CaseLog {
    /// A line of the file.
    private struct Case: Encodable {
        /// The published key set, or the secret.
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

/// An authenticator whose verdicts are recorded together with its keys.
struct TestAuthenticator: Sendable {
    let base: JWTAuthenticator
    let world: TestWorld
    var secret: JWTSecret?

    func authenticate(_ proof: IdentityProof) async throws -> Principal { try await base.authenticate(proof) }

    /// Returns the verdict on a token.
    func verdict(_ token: String?) async throws -> Verdict {
        let before = world.fetched
        let verdict = try await base.verdict(token)
        let keys = secret == nil ? world.fetched : nil
        // While keys are replaced, the keys of the verdict are unknown.
        guard before == nil || before == keys else { return verdict }
        if let token { try CaseLog.add(token, verdict, keys: keys, secret: secret) }
        return verdict
    }
}
