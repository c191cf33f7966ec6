import JWTAuthentication
import MVI
import MVITesting
import Testing

@testable import shop

@Suite("Customers, over HTTP", .timeLimit(.minutes(10)))
struct CustomerTests {
    @Test func `offers are for premium customers, as long as they are`() async throws {
        try await ShopServer.run { server in
            #expect(try await server.device().state(of: "offers").status == 403)
            #expect(try await server.device("bob").state(of: "offers").status == 403)
            var ann = try await server.device("ann premium")
            #expect(try await ann.state(of: "offers").status == 200)
            var stream = try await ann.events(of: "catalogue", "offers")
            try await stream.next("state", "TEA10")
            #expect(try await ann.identify("ann").status == 200)
            try await stream.next("denied", #""feature":"offers""#)
            // The stream goes on with the others.
            try await ann.send(#"{"type":"search","text":"as"}"#, to: "catalogue")
            try await stream.next("state", #""text":"as""#)
            #expect(try await ann.send(#"{"type":"refresh"}"#, to: "offers").status == 403)
        }
    }

    @Test func `two devices of one customer see what the other does`() async throws {
        try await ShopServer.run { server in
            let phone = try await server.device("ann", isShared: true)
            let laptop = try await server.device("ann", isShared: true)
            #expect(phone.session.id == laptop.session.id && phone.session.token != laptop.session.token)
            var onPhone = try await phone.events(of: "cart:tea")
            var onLaptop = try await laptop.events(of: "cart:tea")
            try await onPhone.next("state")
            try await onLaptop.next("state")
            try await phone.send(#"{"type":"add","product":"assam","count":1}"#, to: "cart:tea")
            try await onLaptop.next("state", #""count":1"#)
            try await laptop.send(#"{"type":"set","product":"assam","count":3}"#, to: "cart:tea")
            try await onPhone.next("state", #""count":3"#)
        }
    }

    @Test func `who signs in keeps the cart, which the account takes`() async throws {
        let saved = Collected<String>()
        let services = Services.test(save: { line, shop, owner in
            saved.append("\(owner.id) \(shop) \(line.id) \(line.count)")
        })
        try await ShopServer.run(services: services) { server in
            var device = try await server.device()
            try await device.send(#"{"type":"add","product":"sencha","count":2}"#, to: "cart:tea")
            #expect(saved.all.isEmpty)
            #expect(try await device.identify("ann").status == 200)
            await saved.atLeast(1)
            #expect(saved.all == ["ann tea sencha 2"])
            #expect(try await device.cart() == ["sencha": 2])
        }
    }

    @Test func `an administrator lists a customer's sessions and ends one`() async throws {
        try await ShopServer.run { server in
            let ann = try await server.device("ann")
            try await ann.send(#"{"type":"add","product":"assam","count":1}"#, to: "cart:tea")
            #expect(try await ann.state(of: "session-list").status == 403)
            let ada = try await server.device("ada admin")
            var stream = try await ada.events(of: "session-list")
            try await ada.send(#"{"type":"show","customer":"ann"}"#, to: "session-list")
            try await stream.next("state", ann.session.id)
            let refused = try await ada.send(#"{"type":"end","session":"\#(ada.session.id)"}"#, to: "session-list")
            #expect(refused.status == 404 && refused.code == "no-such-session")
            try await ada.send(#"{"type":"end","session":"\#(ann.session.id)"}"#, to: "session-list")
            try await stream.next("state", #""sessions":[],"isLoading":false"#)
            #expect(try await ann.state(of: "cart:tea").status == 404)
        }
    }

    @Test func `analytics say who did what`() async throws {
        try await ShopServer.run { server in
            try await server.device("ann").send(#"{"type":"add","product":"assam","count":1}"#, to: "cart:tea")
            try await server.device().send(#"{"type":"coupon","code":"NONE"}"#, to: "cart:tea")
            let entries = await server.world.analytics.until { entries in
                Set(entries.map(\.who)).isSuperset(of: ["ann", nil])
            }
            #expect(
                entries.contains(
                    .init(who: "ann", feature: "cart:tea", what: #"add(product: "assam", count: 1)"#)))
            #expect(
                entries.contains(
                    .init(who: nil, feature: "cart:tea", what: #"coupon(code: "NONE") refused: coupon-unknown"#)))
        }
    }

    @Test func `a shop that is not there is refused with the shop's code`() async throws {
        try await ShopServer.run { server in
            let answer = try await server.device().state(of: "cart:cars")
            #expect(answer.status == 404 && answer.code == "no-such-shop")
        }
    }

    @Test func `nobody signs in as anybody unless the settings say so`() async throws {
        try await ShopServer.run { server in
            let jwt = try await server.send("POST", "/development/jwt", #"{"subject":"ann"}"#)
            let payment = try await server.send("POST", "/development/payment", "{}")
            #expect(jwt.status == 404 && payment.status == 404)
        }
    }

    @Test func `in development anybody signs in and pays`() async throws {
        let (issuer, secret) = ("https://login.example.com/", "0123456789abcdef0123456789abcdef")
        let jwt = JWTSettings(issuer: issuer, audiences: ["shop"], secret: JWTSecret(secret))
        try await ShopServer.run(
            development: Development(issuer: issuer, audience: "shop", secret: Array(secret.utf8)),
            authenticator: try await JWTAuthenticator(jwt)
        ) { server in
            struct Token: Decodable { let jwt: String }
            let answer = try await server.send(
                "POST", "/development/jwt", #"{"subject":"ann","tier":"premium","seconds":1000000000}"#)
            let ann = try await server.device(answer.read(Token.self).jwt)
            #expect(try await ann.state(of: "offers").status == 200)
            try await ann.send(#"{"type":"add","product":"assam","count":1}"#, to: "cart:tea")
            try await ann.send(#"{"type":"place"}"#, to: "checkout:tea")
            let order = try #require(try await ann.orders().first).id
            let event = #"{"id":"1","session":"\#(ann.session.id)","shop":"tea","order":"\#(order)"}"#
            #expect(try await server.send("POST", "/development/payment", event).status == 204)
            #expect(try await ann.orders().map(\.status) == [.paid])
        }
    }

    @Test(arguments: ["/", "/shop.js", "/shop.css"])
    func `the page is served`(path: String) async throws {
        try await ShopServer.run { server in
            let file = try await server.send("GET", path)
            #expect(file.status == 200 && !file.body.isEmpty)
        }
    }
}
