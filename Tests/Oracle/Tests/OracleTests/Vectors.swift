import Foundation

/// Project Wycheproof's test vectors of signatures, as swift-crypto's repository has them.
struct Vectors: Decodable {
    struct Group: Decodable {
        struct Key: Decodable {
            /// A point on a curve.
            let uncompressed: String?
            /// A key of Ed25519.
            let pk: String?
        }

        let publicKey: Key?
        /// Of RSA.
        let n, e: String?
        let sha: String?
        /// Of PSS.
        let mgfSha: String?
        let sLen: Int?
        let tests: [Test]
    }

    struct Test: Decodable {
        enum Result: String, Decodable { case valid, invalid, acceptable }

        let tcId: Int
        let comment: String
        let msg, sig: String
        let result: Result
        let flags: [String]
    }

    /// The error of a missing or different checkout of swift-crypto.
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    let testGroups: [Group]

    /// The folder that SwiftPM has fetched swift-crypto's repository into.
    private static let folder = ProcessInfo.processInfo.environment["MVI_ORACLE_BUILD"] ?? ".build"

    /// Reads a file of swift-crypto's folder `Tests`.
    static func read(_ file: String) throws -> Vectors {
        let path = "\(folder)/checkouts/swift-crypto/Tests/\(file).json"
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Missing(
                description: "\(path) is missing: does MVI_ORACLE_BUILD name the build folder of Tests/Oracle, and has "
                    + "swift-crypto's checkout its test vectors?")
        }
        return try JSONDecoder().decode(Vectors.self, from: data)
    }

    /// The bytes of hexadecimal digits; a digit that is missing is a zero at the beginning.
    static func bytes(_ digits: String) -> [UInt8] {
        let values = (digits.count.isMultiple(of: 2) ? digits : "0" + digits).compactMap(\.hexDigitValue)
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    }
}

/// Bytes in base64url.
func base64URL(_ bytes: [UInt8]) -> String {
    String(
        Data(bytes).base64EncodedString().compactMap { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0 })
}
