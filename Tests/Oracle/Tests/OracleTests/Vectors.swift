import Foundation

/// Project Wycheproof's test vectors of signatures, from swift-crypto's repository.
struct Vectors: Decodable {
    struct Group: Decodable {
        struct Key: Decodable {
            /// A point on a curve.
            let uncompressed: String?
            /// A key of Ed25519.
            let pk: String?
        }

        let publicKey: Key?
        /// For RSA.
        let n, e: String?
        let sha: String?
        /// For PSS.
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

    /// The checkout of swift-crypto is missing or has another form.
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    let testGroups: [Group]

    /// The folder of swift-crypto's checkout by SwiftPM.
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

    /// Decodes hexadecimal digits; an odd number of digits gets a leading zero.
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
