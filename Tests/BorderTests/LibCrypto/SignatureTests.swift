import CLibCrypto
import Foundation
import LibCrypto
import Testing

@Suite("Signatures")
struct SignatureTests {
    /// A signature that an RFC gives as an example.
    private struct Example {
        let key: VerificationKey
        let message: [UInt8]
        let signature: [UInt8]
        let scheme: SignatureScheme

        /// Checks another signature.
        func isGood(_ signature: [UInt8]) -> Bool { key.isSignature(signature, of: message[...], by: scheme) }
    }

    private static func bytes(_ text: String) -> [UInt8] {
        let standard = text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return Data(base64Encoded: String(standard) + String(repeating: "=", count: (4 - text.count % 4) % 4))
            .map(Array.init) ?? []
    }

    private static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    private static let modulus = bytes(
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pC"
            + "gNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2Ca"
            + "pHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9g"
            + "b54h4FRWyuXpoQ")

    /// RFC 7515 appendix A.2.
    private func rsa() throws -> Example {
        Example(
            key: try #require(.rsa(modulus: Self.modulus, exponent: [1, 0, 1])),
            message: Array("eyJhbGciOiJSUzI1NiJ9.\(Self.payload)".utf8),
            signature: Self.bytes(
                "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb"
                    + "F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN"
                    + "9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5A"
                    + "XLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"),
            scheme: .rsaPKCS1(.sha256))
    }

    private static let point = (
        x: bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"), y: bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
    )

    /// RFC 7515 appendix A.3.
    private func ec() throws -> Example {
        Example(
            key: try #require(.ec(.p256, x: Self.point.x, y: Self.point.y)),
            message: Array("eyJhbGciOiJFUzI1NiJ9.\(Self.payload)".utf8),
            signature: Self.bytes(
                "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"),
            scheme: .ecdsa(.sha256))
    }

    /// RFC 8037 appendix A.4.
    private func ed25519() throws -> Example {
        Example(
            key: try #require(.ed25519(Self.bytes("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))),
            message: Array("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".utf8),
            signature: Self.bytes(
                "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"),
            scheme: .ed25519)
    }

    private static let schemes: [SignatureScheme] = [
        .rsaPKCS1(.sha256), .rsaPKCS1(.sha384), .rsaPSS(.sha256), .ecdsa(.sha256), .ecdsa(.sha384), .ed25519,
    ]

    @Test func `signatures of the RFCs are good, and nothing else is`() throws {
        for example in [try rsa(), try ec(), try ed25519()] {
            let (message, signature) = (example.message, example.signature)
            #expect(example.isGood(signature))
            let wrongs: [[UInt8]] = [
                [], [0], signature.dropLast(), signature + [0], [0] + signature, signature.reversed(),
                signature.map { _ in 0 }, signature.map { _ in 255 },
            ]
            for wrong in wrongs { #expect(!example.isGood(wrong)) }
            for place in signature.indices {
                var wrong = signature
                wrong[place] ^= 1
                #expect(!example.isGood(wrong))
            }
            for other in [message + [0], message.dropLast(), []] {
                #expect(!example.key.isSignature(signature, of: other[...], by: example.scheme))
            }
            let good = Self.schemes.filter { example.key.isSignature(signature, of: message[...], by: $0) }
            #expect(good.count == 1, "\(good)")
        }
    }

    @Test func `an ECDSA signature has to be as long as twice the curve's field, and is no DER`() throws {
        let example = try ec()
        let (r, s) = (example.signature[..<32], example.signature[32...])
        #expect(!example.isGood([0] + r + [0] + s))
        #expect(!example.isGood([0x30, 0x45, 2, 0x20] + r + [2, 0x21, 0] + s))
    }

    @Test func `a failed check leaves no error to the thread's next user of OpenSSL`() throws {
        for example in [try rsa(), try ec(), try ed25519()] {
            #expect(!example.isGood(example.signature.map { $0 ^ 1 }))
            #expect(ERR_peek_error() == 0)
        }
        #expect(VerificationKey.ec(.p256, x: Self.point.y, y: Self.point.x) == nil)
        #expect(VerificationKey.ed25519([1]) == nil)
        #expect(ERR_peek_error() == 0)
    }

    @Test func `an RSA key that is short, even or of an exponent that no one uses is none`() {
        func isKey(_ modulus: [UInt8], _ exponent: [UInt8]) -> Bool {
            VerificationKey.rsa(modulus: modulus, exponent: exponent) != nil
        }
        #expect(isKey(Self.modulus, [3]) && isKey([0, 0] + Self.modulus, [0, 1, 0, 1]))
        #expect(isKey(Self.modulus, [1, 0, 0, 0, 1]))
        for exponent: [UInt8] in [[], [0], [1], [2], [1, 0, 0], [2, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1]] {
            #expect(!isKey(Self.modulus, exponent), "\(exponent)")
        }
        #expect(
            !isKey([0x7f] + Self.modulus.dropFirst(), [1, 0, 1]) && !isKey(Self.modulus.dropLast() + [2], [1, 0, 1]))
        #expect(!isKey(Self.modulus.dropLast(), [1, 0, 1]) && !isKey([], [1, 0, 1]) && !isKey([0], [1, 0, 1]))
    }

    @Test func `a point has coordinates of the curve's length, and lies on the curve`() {
        let (x, y) = Self.point
        #expect(VerificationKey.ec(.p256, x: x, y: y) != nil)
        #expect(VerificationKey.ec(.p256, x: x, y: y.dropLast()) == nil)
        #expect(VerificationKey.ec(.p256, x: [0] + x, y: y) == nil)
        #expect(VerificationKey.ec(.p256, x: x, y: x) == nil)
        #expect(VerificationKey.ec(.p384, x: x, y: y) == nil)
        let zeros = [UInt8](repeating: 0, count: 32)
        #expect(VerificationKey.ec(.p256, x: zeros, y: zeros) == nil)
        // The prime itself, and numbers beyond it.
        let beyond = [UInt8](repeating: 255, count: 32)
        #expect(VerificationKey.ec(.p256, x: beyond, y: beyond) == nil)
    }
}
