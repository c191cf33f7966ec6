import MVI
import MVIServer
import MVIServerTesting
import MVITesting
import Testing

@testable import shop

@Suite("Payments, over HTTP", .timeLimit(.minutes(10)))
struct PaymentTests {
    /// A server with one order, and the event of its payment.
    private struct Order: Sendable {
        let server: TestServer
        let ann: TestClient
        let id: String

        func event(_ id: String = "e-1") -> String {
            #"{"id":"\#(id)","session":"\#(ann.session)","shop":"tea","order":"\#(self.id)"}"#
        }

        var time: Int64 { server.now.sinceEpoch.components.seconds }

        func pay(_ event: String = "e-1", secret: String = Shop.paymentSecret, age: Int64 = 0) async throws
            -> TestAnswer
        {
            let (time, event) = (time - age, self.event(event))
            return try await pay(event, signed: "t=\(time),v1=\(PaymentTests.code("\(time).\(event)", secret))")
        }

        func pay(_ event: String, signed signature: String) async throws -> TestAnswer {
            try await server.request(
                "POST", "/webhooks/payment", body: event, fields: ["Payment-Signature": signature])
        }

        func status() async throws -> [Checkout.Order.Status] { try await ann.orders().map(\.status) }
    }

    private static func code(_ text: String, _ secret: String = Shop.paymentSecret) -> String {
        SigningSecret(secret.utf8).code(for: Array(text.utf8))
            .map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    private func withOrder(
        analytics: Collected<Analytics.Entry> = Collected(), _ test: (Order) async throws -> Void
    ) async throws {
        try await Shop.run(analytics: analytics) { server in
            let ann = try await server.ann()
            try await ann.checkout.send(.place)
            try await test(Order(server: server, ann: ann, id: try #require(try await ann.orders().first).id))
        }
    }

    @Test func `a repeated payment counts once, and the stream shows it`() async throws {
        let analytics = Collected<Analytics.Entry>()
        try await withOrder(analytics: analytics) { order in
            let events = try await order.ann.checkout.events()
            try await events.state(of: order.ann.checkout) { $0.open != nil }
            #expect(try await order.pay().status == 204)
            try await events.state(of: order.ann.checkout) { $0.orders.map(\.status) == [.paid] }
            while try await events.label(of: order.ann.checkout) != .paid(order: order.id) {}
            #expect(try await order.pay().status == 204)
            // Another event for the same order, which is not waiting for a payment any more.
            let other = try await order.pay("e-2")
            #expect(other.status == 409 && other.code == "order-is-over")
            // The reminder is gone.
            await order.server.advance(by: .seconds(3_600))
            #expect(try await order.status() == [.paid])
            #expect(try await order.ann.goods() == [:])
            #expect(!analytics.all.contains { $0.what.hasPrefix("expire") })
        }
    }

    @Test func `a payment with a foreign signature is refused`() async throws {
        try await withOrder { order in
            let forged = try await order.pay(secret: "guessed")
            #expect(forged.status == 403 && forged.code == "bad-signature")
            #expect(
                try await order.server.request("POST", "/webhooks/payment", body: order.event()).status == 403)
            #expect(try await order.status() == [.reserved])
        }
    }

    @Test func `the time is signed, and a signature of another time is refused`() async throws {
        try await withOrder { order in
            for age: Int64 in [301, 86_400, -301] {
                let refused = try await order.pay(age: age)
                #expect(refused.status == 403 && refused.code == "old-signature")
            }
            let (now, event) = (order.time, order.event())
            let good = Self.code("\(now).\(event)")
            for signature in [
                // A code of the body alone, a code of another time, no code, and two times.
                Self.code(event), "t=\(now),v1=\(Self.code(event))", "t=\(now + 1),v1=\(good)", "v1=\(good)",
                "t=\(now),t=\(now),v1=\(good)", "t=\(now)", "t=+\(now),v1=\(Self.code("+\(now).\(event)"))",
                "t=,v1=\(Self.code(".\(event)"))", "t=\(now),v0=\(good)", "t=\(now),v1=\(good.dropLast())", "",
            ] {
                let refused = try await order.pay(event, signed: signature)
                #expect(refused.status == 403 && refused.code == "bad-signature", "\(signature)")
            }
            #expect(try await order.status() == [.reserved])
            // While a provider changes its secret there are two codes.
            let both = "t=\(now),v1=\(Self.code("\(now).\(event)", "another")),v1=\(good)"
            #expect(try await order.pay(event, signed: both).status == 204)
            #expect(try await order.status() == [.paid])
        }
    }

    @Test func `a replayed event does nothing, even if its order could be paid again`()
        async throws
    {
        let analytics = Collected<Analytics.Entry>()
        try await withOrder(analytics: analytics) { order async throws in
            let (time, event) = (order.time, order.event())
            let signature = "t=\(time),v1=\(Self.code("\(time).\(event)"))"
            #expect(try await order.pay(event, signed: signature).status == 204)
            // Until the last second it is answered from its receipt, then it is refused.
            await order.server.advance(by: .seconds(300))
            #expect(try await order.pay(event, signed: signature).status == 204)
            #expect(await analytics.count(of: "paid") == 1)
            await order.server.advance(by: .seconds(1))
            #expect(try await order.pay(event, signed: signature).code == "old-signature")
            // The provider signs again when it retries.
            #expect(try await order.pay().status == 204)
            #expect(await analytics.count(of: "paid") == 1)
        }
    }

    @Test func `a late payment is refused, to be refunded`() async throws {
        try await withOrder { order async throws in
            await order.server.advance(by: .seconds(600))
            #expect(try await order.pay().code == "order-is-over")
        }
    }
}
