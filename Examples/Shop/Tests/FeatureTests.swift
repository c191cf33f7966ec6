import MVI
import MVITesting
import Testing

@testable import shop

private let ann = Subject(issuer: "test", id: "ann")

extension Services {
    /// The shops of the demo, with the other services of a test.
    static func test(
        search: @escaping @Sendable (String) async throws -> [Product] = { _ in [] },
        save: @escaping @Sendable (Line, String, Subject) async throws -> Void = { _, _, _ in },
        coupon: @escaping @Sendable (String) async throws -> Coupon? = { _ in nil }
    ) -> Services {
        var services = Services.demo
        (services.search, services.save, services.coupon) = (search, save, coupon)
        return services
    }
}

@Suite("The catalogue")
struct CatalogueTests {
    private let assam = Product(id: "assam", name: "Assam", shop: "tea", price: 690)

    @Test func `it searches once for quick typing`() async {
        let searches = Collected<String>()
        let store = TestStore(
            Catalogue { text in
                searches.append(text)
                return [assam]
            })
        await store.advance(by: .zero)
        await store.receive(.searchStarted(text: "")) { $0.isSearching = true }
        await store.receive(.found([assam])) { ($0.products, $0.isSearching) = ([assam], false) }
        for text in ["a", "as"] {
            await store.send(.search(text: text))
            await store.receive(.searchStarted(text: text)) { ($0.text, $0.isSearching) = (text, true) }
            await store.advance(by: .milliseconds(200))
        }
        await store.advance(by: .milliseconds(100))
        await store.receive(.found([assam])) { $0.isSearching = false }
        #expect(searches.all == ["", "as"])
        await store.finish()
    }

    @Test func `it tries three times, then reports the failure`() async {
        struct Down: Error {}
        let tries = Collected<String>()
        let store = TestStore(
            Catalogue { text in
                tries.append(text)
                throw Down()
            })
        await store.receive(.searchStarted(text: "")) { $0.isSearching = true }
        await store.advance(by: .seconds(60))
        await store.expectFailure()
        await store.receive(.failed) { ($0.isSearching, $0.hasFailed) = (false, true) }
        #expect(tries.all.count == 3)
        await store.finish()
    }

    @Test func `a long text is refused`() async {
        let store = TestStore(Catalogue { _ in [] }, exhaustive: false)
        await store.sendRejected(
            .search(text: String(repeating: "a", count: 101)), code: "text-too-long", pointers: ["/text"])
    }
}

@Suite("The cart")
struct CartTests {
    private let annsSession = SessionInfo(id: "s", subject: ann)

    @Test func `a change is shown at once, and saved`() async throws {
        let gate = Gate()
        let store = TestStore(
            try Cart(shop: "tea", .test(save: { _, _, _ in try await gate.wait() })), session: annsSession,
            exhaustive: false)
        await store.send(.add(product: "assam", count: 2))
        #expect(store.view.total == 1_380 && store.view.lines.map(\.isSaving) == [true])
        gate.open()
        await store.receive(.line(id: "assam", .saved(count: 2)))
        #expect(store.view.lines.map(\.isSaving) == [false] && store.view.lines.map(\.savedCount) == [2])
    }

    @Test func `a change that the account rejects is reverted`() async throws {
        let store = TestStore(
            try Cart(shop: "tea", .test(save: { line, _, _ in if line.count > 10 { throw SoldOut() } })),
            session: annsSession, exhaustive: false)
        await store.send(.set(product: "assam", count: 3))
        await store.receive(.line(id: "assam", .saved(count: 3)))
        await store.send(.set(product: "assam", count: 11))
        await store.receive(.line(id: "assam", .saveFailed))
        #expect(store.view.lines.map(\.count) == [3] && store.view.lines.map(\.hasFailed) == [true])
    }

    @Test func `a coupon is looked up before it counts`() async throws {
        let coupons = ["TEA10": "2099-01-01T00:00:00Z", "SPRING": "2026-03-31T23:59:59Z"]
        let store = TestStore(
            try Cart(
                shop: "tea",
                .test(coupon: { code in
                    coupons[code].flatMap { Timestamp($0) }.map { Coupon(code: code, percent: 10, expires: $0) }
                })), now: Timestamp(sinceEpoch: .seconds(1_795_300_000)), exhaustive: false)
        await store.send(.add(product: "assam", count: 1))
        for (code, refusal) in [("NONE", "coupon-unknown"), ("SPRING", "coupon-expired")] {
            await store.sendRejected(.coupon(code: code), .invalid, code: refusal, pointers: ["/code"])
        }
        #expect(store.view.total == 690)
        await store.send(.coupon(code: "TEA10"))
        #expect(store.view.total == 621)
    }

    @Test func `a line that was being saved when the server ended is saved again`() async throws {
        let saved = Collected<Int>()
        let cart = try Cart(shop: "tea", .test(save: { line, _, _ in saved.append(line.count) }))
        var state = Cart.State()
        var line = Line(try #require(cart.products["assam"]))
        (line.count, line.isSaving) = (4, true)
        state.lines.append(line)
        let store = TestStore(cart, state: state, session: annsSession, exhaustive: false)
        await store.receive(.line(id: "assam", .saved(count: 4)))
        #expect(saved.all == [4])
    }

    @Test func `an unknown shop and an unknown product are refused`() async throws {
        #expect(throws: Refusal.self) { try Cart(shop: "cars", .demo) }
        let store = TestStore(try Cart(shop: "tea", .demo), exhaustive: false)
        await store.sendRejected(.add(product: "atlas", count: 1), code: "no-such-product")
    }
}

@Suite("The checkout, with its cart")
struct CheckoutFeatureTests {
    private let order = "00000000-0000-4000-8000-000000000001"

    /// Returns a store with an order of two packets of tea.
    private func ordered() async throws -> TestStore<Checkout> {
        let cart = try Cart(shop: "tea", .test())
        var line = Line(try #require(cart.products["assam"]))
        (line.count, line.savedCount) = (2, 2)
        var state = Cart.State()
        state.lines = [line]
        let store = TestStore(
            try Checkout(shop: "tea", reservation: .seconds(600), .demo), key: "tea",
            principal: Principal(issuer: "test", subject: "ann"),
            others: [OtherStore(cart, key: "tea", state: state)])
        await store.send(.place)
        await store.receive(Checkout.Message.placed) { state, order in
            #expect(order.total == 1_380 && order.goods == ["assam": 2])
            state.orders = [order]
        }
        await store.expectSent(.empty, to: Cart.self, key: "tea")
        await store.expect(.placed(order: order))
        return store
    }

    @Test func `goods that are not paid in time go back into the cart`() async throws {
        let store = try await ordered()
        await store.passivate()
        await store.advance(by: .seconds(600))
        await store.receive(.ended(order: order, .expired)) { $0.orders[0].status = .expired }
        await store.expectSent(.add(product: "assam", count: 2), to: Cart.self, key: "tea")
        await store.expect(.expired(order: order))
        await store.finish()
    }

    @Test func `an order that is paid stays so, and is not ordered again with an empty cart`() async throws {
        let store = try await ordered()
        await store.perform(.paid(order: order))
        await store.receive(.ended(order: order, .paid)) { $0.orders[0].status = .paid }
        await store.expect(.paid(order: order))
        #expect(store.reminders.isEmpty)
        await store.sendRejected(.place, .conflict, code: "cart-is-empty")
        await store.finish()
    }
}

@Suite("The offers")
struct OffersTests {
    @Test func `they are observed while a stream is open, and retried at most every five seconds`() async {
        let asked = Collected<Void>()
        let store = TestStore(
            Offers(today: {
                asked.append(())
                return AsyncStream { [count = asked.all.count] offers in
                    offers.yield([Offer(text: "Number \(count)", coupon: "TEA10")])
                    offers.finish()
                }
            }), exhaustive: false)
        await store.advance(by: .zero)
        #expect(asked.all.count == 0)
        await store.beginWatching()
        await store.receive(where: { $0 == .shown([Offer(text: "Number 1", coupon: "TEA10")]) })
        for _ in 0..<3 { await store.send(.refresh) }
        await store.receive(where: { $0 == .shown([Offer(text: "Number 2", coupon: "TEA10")]) })
        await store.advance(by: .milliseconds(4_999))
        #expect(asked.all.count == 2)
        await store.advance(by: .milliseconds(1))
        await store.receive(where: { $0 == .shown([Offer(text: "Number 3", coupon: "TEA10")]) })
        await store.endWatching()
    }
}

@Suite("All features of the shop")
struct ExampleTests {
    @Test func `every intent and label has an example`() {
        checkExamples(of: Catalogue.self)
        checkExamples(of: Cart.self)
        checkExamples(of: Checkout.self)
        checkExamples(of: Offers.self)
        checkExamples(of: SessionList.self)
    }
}
