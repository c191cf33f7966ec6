import JWTKit

/// One key with one algorithm that fits its type.
struct SignatureVerifier: Sendable {
    private let algorithm: any JWTAlgorithm

    init(_ algorithm: any JWTAlgorithm) { self.algorithm = algorithm }

    /// Whether the signature over those bytes was made with that key.
    func isGood(_ signature: [UInt8], of bytes: ArraySlice<UInt8>) -> Bool {
        // It throws for a signature of an impossible form.
        (try? algorithm.verify(signature, signs: Array(bytes))) ?? false
    }
}
