import MVI
import MVIServer

/// The event of a payment provider for a paid order.
struct Payment: Codable, Sendable {
    /// The provider's id of the event. The provider repeats an event until it gets an answer.
    let id: String
    let session: String
    let shop: String
    let order: String

    func perform(in sessions: SessionDirectory) async throws {
        try await sessions.perform(.paid(order: order), on: Checkout.self, key: shop, session: session, once: id)
    }

    /// The tolerated age of a signature's time. Receipts of events are kept longer, so a replayed event is either too
    /// old or answered from its receipt.
    private static let tolerance: Duration = .seconds(300)

    /// Accepts payments that the provider has signed.
    static func webhook(secret: String) -> Endpoint {
        let secret = SigningSecret(secret.utf8)
        return Endpoint(.post, "/webhooks/payment", summary: "An order was paid.") { request, sessions in
            guard let signature = PaymentSignature(request.field("Payment-Signature") ?? ""),
                signature.isValid(for: request.body, secret)
            else { throw Refusal(.forbidden, code: "bad-signature", "The signature is not the provider's.") }
            let age = request.now.sinceEpoch - .seconds(signature.time)
            guard age <= tolerance, age >= .zero - tolerance else {
                throw Refusal(
                    .forbidden, code: "old-signature", "The signature's time is more than five minutes from now.")
            }
            try await request.decode(Payment.self).perform(in: sessions)
            return .noContent
        }
    }
}

/// A provider's signature of an event: `t=<time>,v1=<code>`. The code is the hexadecimal HMAC of the time as written, a
/// dot and the body. While the provider changes its secret, there are two codes.
private struct PaymentSignature {
    private let text: Substring
    /// Seconds since 1970.
    let time: Int64
    private let codes: [[UInt8]]

    init?(_ field: String) {
        let parts = field.split(separator: ",").map { $0.split(separator: "=", maxSplits: 1) }
        let times = parts.filter { $0.count == 2 && $0[0] == "t" }
        // In the provider's format: decimal digits only, few enough for any time.
        guard times.count == 1, (1...12).contains(times[0][1].utf8.count),
            times[0][1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let time = Int64(times[0][1])
        else { return nil }
        (text, self.time) = (times[0][1], time)
        codes = parts.filter { $0.count == 2 && $0[0] == "v1" }.prefix(4).compactMap { Self.bytes($0[1]) }
    }

    func isValid(for body: [UInt8], _ secret: SigningSecret) -> Bool {
        let message = Array("\(text).".utf8) + body
        return codes.contains { secret.isCode($0, for: message) }
    }

    private static func bytes(_ digits: Substring) -> [UInt8]? {
        let values = digits.compactMap(\.hexDigitValue)
        guard values.count == digits.count, values.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] * 16 + values[$0 + 1]) }
    }
}
