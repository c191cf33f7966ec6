import JWTAuthentication
import MVI
import MVIServerTesting
import MVITesting
import Testing

@testable import shop

@Suite("Customers, over HTTP", .timeLimit(.minutes(10)))
struct CustomerTests {
    @Test func `offers are for premium customers, while they are premium`() async throws {
        try await Shop.run { server in
            #expect(try await server.client().store(Offers.self).read().status == 403)
            #expect(try await server.client(as: .bob).store(Offers.self).read().status == 403)
            let ann = try await server.client(as: .premiumAnn)
            let (offers, catalogue) = (ann.store(Offers.self), ann.store(Catalogue.self))
            #expect(try await offers.read().status == 200)
            let events = try await ann.events(of: catalogue.id, offers.id)
            try await events.state(of: offers) { $0.offers.contains { $0.coupon == "TEA10" } }
            try await ann.signIn(as: .ann)
            #expect(try await events.event("denied").contains(#""feature":"offers""#))
            // The stream continues with the other features.
            try await catalogue.send(.search(text: "as"))
            try await events.state(of: catalogue) { $0.text == "as" }
            try await offers.sendRejected(.refresh, status: 403)
        }
    }

    @Test func `two devices of one customer see each other's changes`() async throws {
        try await Shop.run { server in
            let phone = try await server.client(as: .ann, isShared: true)
            let laptop = try await server.client(as: .ann, isShared: true)
            #expect(phone.session == laptop.session && phone.fields != laptop.fields)
            let (onPhone, onLaptop) = (try await phone.cart.events(), try await laptop.cart.events())
            try await phone.cart.send(.add(product: "assam", count: 1))
            try await onLaptop.state(of: laptop.cart) { $0.lines.map(\.count) == [1] }
            try await laptop.cart.send(.set(product: "assam", count: 3))
            try await onPhone.state(of: phone.cart) { $0.lines.map(\.count) == [3] }
        }
    }

    @Test func `signing in keeps the cart and saves it in the account`() async throws {
        let saved = Collected<String>()
        let services = Services.test(save: { line, shop, owner in
            saved.append("\(owner.id) \(shop) \(line.id) \(line.count)")
        })
        try await Shop.run(services: services) { server in
            let device = try await server.client()
            try await device.cart.send(.add(product: "sencha", count: 2))
            #expect(saved.all.isEmpty)
            try await device.signIn(as: .ann)
            #expect(await saved.atLeast(1) == ["ann tea sencha 2"])
            #expect(try await device.goods() == ["sencha": 2])
        }
    }

    @Test func `an administrator lists a customer's sessions and ends one`() async throws {
        try await Shop.run { server in
            let ann = try await server.ann()
            #expect(try await ann.store(SessionList.self).read().status == 403)
            let ada = try await server.client(as: .ada)
            let list = ada.store(SessionList.self)
            let events = try await list.events()
            try await list.send(.show(customer: "ann"))
            try await events.state(of: list) { $0.sessions.map(\.id) == [ann.session] }
            try await list.sendRejected(.end(session: ada.session), status: 404, code: "no-such-session")
            try await list.send(.end(session: ann.session))
            try await events.state(of: list) { $0.sessions.isEmpty && !$0.isLoading }
            #expect(try await ann.cart.read().status == 404)
        }
    }

    @Test func `analytics record the customer and the intent`() async throws {
        let analytics = Collected<Analytics.Entry>()
        try await Shop.run(analytics: analytics) { server in
            _ = try await server.ann()
            try await server.client().cart.sendRejected(.coupon(code: "NONE"))
            let entries = await analytics.until { Set($0.map(\.who)).isSuperset(of: ["ann", nil]) }
            #expect(
                entries.contains(.init(who: "ann", feature: "cart:tea", what: #"add(product: "assam", count: 2)"#)))
            #expect(
                entries.contains(
                    .init(who: nil, feature: "cart:tea", what: #"coupon(code: "NONE") refused: coupon-unknown"#)))
        }
    }

    @Test func `an unknown shop is refused with the application's code`() async throws {
        try await Shop.run { server in
            let answer = try await server.client().store(Cart.self, key: "cars").read()
            #expect(answer.status == 404 && answer.code == "no-such-shop")
        }
    }

    @Test func `development sign-ins are off by default`() async throws {
        try await Shop.run { server in
            let jwt = try await server.request("POST", "/development/jwt", body: #"{"subject":"ann"}"#)
            let payment = try await server.request("POST", "/development/payment", body: "{}")
            #expect(jwt.status == 404 && payment.status == 404)
        }
    }

    @Test func `with --development anybody can sign in and pay`() async throws {
        let (issuer, secret) = ("https://login.example.com/", "0123456789abcdef0123456789abcdef")
        let jwt = JWTSettings(issuer: issuer, audiences: ["shop"], secret: JWTSecret(secret))
        try await Shop.run(
            development: Development(issuer: issuer, audience: "shop", secret: Array(secret.utf8)),
            authenticator: try await JWTAuthenticator(jwt)
        ) { server in
            struct Token: Decodable { let jwt: String }
            let answer = try await server.request(
                "POST", "/development/jwt", body: #"{"subject":"ann","tier":"premium"}"#)
            let ann = try await server.client(identity: answer.decode(Token.self).jwt)
            #expect(try await ann.store(Offers.self).read().status == 200)
            try await ann.cart.send(.add(product: "assam", count: 1))
            try await ann.checkout.send(.place)
            let order = try #require(try await ann.orders().first).id
            let event = #"{"id":"1","session":"\#(ann.session)","shop":"tea","order":"\#(order)"}"#
            #expect(try await server.request("POST", "/development/payment", body: event).status == 204)
            #expect(try await ann.orders().map(\.status) == [.paid])
        }
    }

    @Test(arguments: ["/", "/shop.js", "/shop.css"])
    func `the page is served`(path: String) async throws {
        try await Shop.run { server in
            let file = try await server.request("GET", path)
            #expect(file.status == 200 && !file.body.isEmpty)
        }
    }
}
