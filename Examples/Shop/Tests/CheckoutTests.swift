import MVI
import MVIServerTesting
import MVITesting
import Testing

@testable import shop

@Suite("The checkout, over HTTP", .timeLimit(.minutes(10)))
struct CheckoutTests {
    @Test func `one commit empties the cart and places the order`() async throws {
        try await Shop.run { server in
            let ann = try await server.ann()
            // Nothing else is written meanwhile: the line is saved.
            await server.advance(by: .zero)
            #expect(try await ann.cart.state().lines.map(\.savedCount) == [2])
            let before = server.commitCount
            try await ann.checkout.send(.place)
            #expect(server.commitCount == before + 1)
            let orders = try await ann.orders()
            #expect(orders.map(\.status) == [.reserved] && orders.map(\.goods) == [["assam": 2]])
            #expect(orders.map(\.total) == [1_380])
            #expect(try await ann.goods() == [:])
        }
    }

    @Test func `a commit that fails leaves the cart full and places no order`() async throws {
        try await Shop.run { server in
            let ann = try await server.ann()
            #expect(try await ann.orders() == [])
            server.failCommits()
            try await ann.checkout.sendRejected(.place, status: 503)
            server.allowCommits()
            #expect(try await ann.goods() == ["assam": 2])
            #expect(try await ann.orders() == [])
            try await ann.checkout.send(.place)
        }
    }

    @Test func `only signed-in customers order, one order at a time, and no empty cart`() async throws {
        try await Shop.run { server in
            try await server.client().checkout.sendRejected(.place, code: "sign-in-first")
            let ann = try await server.ann()
            try await ann.checkout.send(.place)
            try await ann.checkout.sendRejected(.place, status: 409, code: "order-is-open")
            try await server.client(as: .bob).checkout.sendRejected(.place, code: "cart-is-empty")
            try await ann.checkout.send(.cancel)
            #expect(try await ann.goods() == ["assam": 2])
            #expect(try await ann.orders().map(\.status) == [.cancelled])
        }
    }

    @Test func `after ten minutes the goods go back into the cart, once`() async throws {
        let analytics = Collected<Analytics.Entry>()
        try await Shop.run(analytics: analytics) { server in
            let ann = try await server.ann()
            try await ann.checkout.send(.place)
            await server.advance(by: .seconds(599))
            #expect(try await ann.orders().map(\.status) == [.reserved])
            let events = try await ann.events(of: ann.cart.id, ann.checkout.id)
            try await events.event("hello")
            await server.advance(by: .seconds(1))
            let order = try #require(try await ann.orders().first)
            #expect(order.status == .expired)
            #expect(try await events.label(of: ann.checkout) == .expired(order: order.id))
            await server.advance(by: .seconds(600))
            #expect(try await ann.goods() == ["assam": 2])
            #expect(await analytics.count(of: "expire") == 1)
        }
    }

    @Test func `a reservation that ends while no server runs ends after the restart`() async throws {
        try await Shop.run { server in
            let ann = try await server.ann()
            try await ann.checkout.send(.place)
            try await server.restart(after: .seconds(3_600))
            #expect(try await ann.orders().map(\.status) == [.expired])
            #expect(try await ann.goods() == ["assam": 2])
        }
    }
}
