import Crypto
import MVI
import SessionJournal
import Testing

@testable import shop

@Suite("The checkout, over HTTP", .timeLimit(.minutes(10)))
struct CheckoutTests {
    /// A customer with two packets of tea in the cart.
    private func ann(on server: ShopServer) async throws -> Device {
        let ann = try await server.device("ann")
        try await ann.send(#"{"type":"add","product":"assam","count":2}"#, to: "cart:tea")
        return ann
    }

    private func place(_ device: Device) async throws -> Answer {
        try await device.send(#"{"type":"place"}"#, to: "checkout:tea")
    }

    @Test func `one commit empties the cart and places the order`() async throws {
        try await ShopServer.run { server in
            let ann = try await ann(on: server)
            // Nothing else is written meanwhile: the line is saved.
            var stream = try await ann.events(of: "cart:tea")
            try await stream.next("state", #""savedCount":2"#)
            let before = server.journal.appended
            #expect(try await place(ann).status == 200)
            #expect(server.journal.appended == before + 1)
            let orders = try await ann.orders()
            #expect(orders.map(\.status) == [.reserved] && orders.map(\.goods) == [["assam": 2]])
            #expect(orders.map(\.total) == [1_380])
            #expect(try await ann.cart() == [:])
        }
    }

    @Test func `a commit that fails leaves the cart full and places no order`() async throws {
        try await ShopServer.run { server in
            let ann = try await ann(on: server)
            #expect(try await ann.orders() == [])
            server.journal.fail(.unavailable)
            #expect(try await place(ann).status == 503)
            server.journal.fail(nil)
            #expect(try await ann.cart() == ["assam": 2])
            #expect(try await ann.orders() == [])
            #expect(try await place(ann).status == 200)
        }
    }

    @Test func `only somebody who is signed in orders, and only what there is, one order at a time`() async throws {
        try await ShopServer.run { server in
            #expect(try await place(server.device()).code == "sign-in-first")
            let ann = try await ann(on: server)
            #expect(try await place(ann).status == 200)
            let second = try await place(ann)
            #expect(second.status == 409 && second.code == "order-is-open")
            #expect(try await place(server.device("bob")).code == "cart-is-empty")
            #expect(try await ann.send(#"{"type":"cancel"}"#, to: "checkout:tea").status == 200)
            #expect(try await ann.cart() == ["assam": 2])
            #expect(try await ann.orders().map(\.status) == [.cancelled])
        }
    }

    @Test func `after ten minutes the goods go back into the cart, once`() async throws {
        try await ShopServer.run { server in
            let ann = try await ann(on: server)
            _ = try await place(ann)
            server.world.advance(by: .seconds(599))
            await server.fireReminders()
            #expect(try await ann.orders().map(\.status) == [.reserved])
            var stream = try await ann.events(of: "cart:tea", "checkout:tea")
            try await stream.next("hello")
            server.world.advance(by: .seconds(1))
            await server.fireReminders()
            try await stream.next("label", "expired")
            #expect(try await ann.orders().map(\.status) == [.expired])
            server.world.advance(by: .seconds(600))
            await server.fireReminders()
            #expect(try await ann.cart() == ["assam": 2])
            _ = await server.world.analytics.until { $0.contains { $0.what.hasPrefix("expire") } }
            #expect(server.world.count(of: "expire") == 1)
        }
    }

    @Test func `a reservation that ends while no server runs ends when one runs again`() async throws {
        let world = ShopServer.World()
        var token: Device.Session?
        try await ShopServer.run(in: world) { server in
            let ann = try await ann(on: server)
            _ = try await place(ann)
            token = ann.session
        }
        world.advance(by: .seconds(3_600))
        try await ShopServer.run(in: world) { server in
            await server.fireReminders()
            let ann = Device(server: server, session: try #require(token))
            #expect(try await ann.orders().map(\.status) == [.expired])
            #expect(try await ann.cart() == ["assam": 2])
        }
    }

    // MARK: Payments

    private func payment(
        _ server: ShopServer, _ body: String, secret: String = ShopServer.paymentSecret, age: Int64 = 0
    ) async throws -> Answer {
        let time = server.world.time.withLock { $0 }.components.seconds - age
        return try await payment(server, body, "t=\(time),v1=\(Self.code("\(time).\(body)", secret))")
    }

    private func payment(_ server: ShopServer, _ body: String, _ signature: String) async throws -> Answer {
        try await server.send("POST", "/webhooks/payment", body, fields: [("Payment-Signature", signature)])
    }

    private static func code(_ text: String, _ secret: String = ShopServer.paymentSecret) -> String {
        HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: Array(secret.utf8)))
            .map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    private func event(_ id: String, _ device: Device, _ order: String) -> String {
        #"{"id":"\#(id)","session":"\#(device.session.id)","shop":"tea","order":"\#(order)"}"#
    }

    @Test func `a payment that comes twice is taken once, and the stream shows it`() async throws {
        try await ShopServer.run { server in
            let ann = try await ann(on: server)
            _ = try await place(ann)
            let order = try #require(try await ann.orders().first).id
            var stream = try await ann.events(of: "checkout:tea")
            try await stream.next("state", "reserved")
            #expect(try await payment(server, event("e-1", ann, order)).status == 204)
            try await stream.next("state", #""status":"paid""#)
            try await stream.next("label", #""type":"paid""#)
            #expect(try await payment(server, event("e-1", ann, order)).status == 204)
            // Another event of the same payment is for an order that waits for none.
            let other = try await payment(server, event("e-2", ann, order))
            #expect(other.status == 409 && other.code == "order-is-over")
            // The reminder is gone.
            server.world.advance(by: .seconds(3_600))
            await server.fireReminders()
            #expect(try await ann.orders().map(\.status) == [.paid])
            #expect(try await ann.cart() == [:])
            #expect(server.world.count(of: "expire") == 0)
        }
    }

    @Test func `a payment that somebody else signed is refused`() async throws {
        try await ShopServer.run { server in
            let ann = try await ann(on: server)
            _ = try await place(ann)
            let order = try #require(try await ann.orders().first).id
            let forged = try await payment(server, event("e-1", ann, order), secret: "guessed")
            #expect(forged.status == 403 && forged.code == "bad-signature")
            #expect(try await server.send("POST", "/webhooks/payment", event("e-1", ann, order)).status == 403)
            #expect(try await ann.orders().map(\.status) == [.reserved])
        }
    }

    @Test func `the time is signed, and a signature of another time is refused`() async throws {
        try await ShopServer.run { server in
            let ann = try await ann(on: server)
            _ = try await place(ann)
            let event = event("e-1", ann, try #require(try await ann.orders().first).id)
            for age: Int64 in [301, 86_400, -301] {
                let refused = try await payment(server, event, age: age)
                #expect(refused.status == 403 && refused.code == "old-signature")
            }
            let now = server.world.time.withLock { $0 }.components.seconds
            let good = Self.code("\(now).\(event)")
            for signature in [
                // Of the body alone, of another time than it says, and without one, or with two.
                Self.code(event), "t=\(now),v1=\(Self.code(event))", "t=\(now + 1),v1=\(good)", "v1=\(good)",
                "t=\(now),t=\(now),v1=\(good)", "t=\(now)", "t=+\(now),v1=\(Self.code("+\(now).\(event)"))",
                "t=,v1=\(Self.code(".\(event)"))", "t=\(now),v0=\(good)", "t=\(now),v1=\(good.dropLast())", "",
            ] {
                let refused = try await payment(server, event, signature)
                #expect(refused.status == 403 && refused.code == "bad-signature", "\(signature)")
            }
            #expect(try await ann.orders().map(\.status) == [.reserved])
            // While a provider changes its secret there are two codes.
            let both = "t=\(now),v1=\(Self.code("\(now).\(event)", "another")),v1=\(good)"
            #expect(try await payment(server, event, both).status == 204)
            #expect(try await ann.orders().map(\.status) == [.paid])
        }
    }

    @Test func `an event that somebody recorded and sends again does nothing, also when its order could be paid again`()
        async throws
    {
        try await ShopServer.run { server in
            let ann = try await ann(on: server)
            _ = try await place(ann)
            let event = event("e-1", ann, try #require(try await ann.orders().first).id)
            let time = server.world.time.withLock { $0 }.components.seconds
            let signature = "t=\(time),v1=\(Self.code("\(time).\(event)"))"
            #expect(try await payment(server, event, signature).status == 204)
            // To the last second it is answered from its receipt, and after that it is refused.
            server.world.advance(by: .seconds(300))
            #expect(try await payment(server, event, signature).status == 204)
            _ = await server.world.analytics.until { $0.contains { $0.what.hasPrefix("paid") } }
            #expect(server.world.count(of: "paid") == 1)
            server.world.advance(by: .seconds(1))
            #expect(try await payment(server, event, signature).code == "old-signature")
            // The provider signs anew when it tries again.
            #expect(try await payment(server, event).status == 204)
            #expect(server.world.count(of: "paid") == 1)
        }
    }

    @Test func `a payment that comes too late is given back`() async throws {
        try await ShopServer.run { server in
            let ann = try await ann(on: server)
            _ = try await place(ann)
            let order = try #require(try await ann.orders().first).id
            server.world.advance(by: .seconds(600))
            await server.fireReminders()
            #expect(try await payment(server, event("e-1", ann, order)).code == "order-is-over")
        }
    }
}
