import Crypto
import MVI
import MVIServer

/// What a payment's provider says: an order was paid.
struct Payment: Codable, Sendable {
    /// The provider's id for the event: it sends an event again until it gets an answer.
    let id: String
    let session: String
    let shop: String
    let order: String

    func perform(in sessions: SessionDirectory) async throws {
        try await sessions.perform(.paid(order: order), on: Checkout.self, key: shop, session: session, once: id)
    }

    /// Takes payments that the provider has signed: `Payment-Signature` is the HMAC of the body in hexadecimal digits.
    static func webhook(secret: String) -> Endpoint {
        let key = SymmetricKey(data: Array(secret.utf8))
        return Endpoint(.post, "/webhooks/payment", summary: "An order was paid.") { request, sessions in
            guard let signature = bytes(request.field("Payment-Signature") ?? ""),
                HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: request.body, using: key)
            else { throw Refusal(.forbidden, code: "bad-signature", "The signature is not the provider's.") }
            try await request.decode(Payment.self).perform(in: sessions)
            return .noContent
        }
    }

    private static func bytes(_ digits: String) -> [UInt8]? {
        let values = digits.compactMap(\.hexDigitValue)
        guard values.count == digits.count, values.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] * 16 + values[$0 + 1]) }
    }
}
