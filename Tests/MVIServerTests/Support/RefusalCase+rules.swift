import MVI
import MVITesting
import Sessions
import Testing

@testable import MVIServer

extension RefusalCase {
    /// The refusals by access rules and by features' own rules.
    static let rules: [RefusalCase] = access + [list] + intentRules

    /// The list depends on the caller if a feature has an access rule.
    private static let list = RefusalCase(
        "listFeatures", .crossSite, when: "a page of another site asks with the cookie", content: { premium($0) },
        ask: { server in
            let field = (name: "Sec-Fetch-Site", value: "cross-site")
            let bearer = try await server.session()
            #expect(try await server.send(bearer.request("GET", "/features", [field])).status == 200)
            #expect(try await server.send(TestRequest("GET", "/features", [field])).status == 200)
            return try await server.send(try await server.cookieSession().request("GET", "/features", [field]))
        })

    @FeatureBuilder
    private static func premium(_ gate: Gate) -> ServerContent {
        Probe(gate: gate).requires { $0.claim("tier") == "premium" }
        Keyed { try Item(id: $0) }.requires { $0.claim("tier") == "premium" }
    }

    private static let access: [RefusalCase] = [
        ("readState", "GET", "/features/probe/state", [], ""),
        ("disposeStore", "DELETE", "/features/probe/state", [], ""),
        ("sendIntent", "POST", "/features/probe/intents", [json], #"{"type":"increment"}"#),
        ("streamFeature", "GET", "/features/probe/events", [], ""),
        ("streamSession", "GET", "/events?feature=probe&feature=item:1", [], ""),
    ].flatMap { (operation, method, target, fields, body) -> [RefusalCase] in
        [
            RefusalCase(
                operation, .forbidden, when: "the principal may not use the feature",
                authenticator: WordAuthenticator(), content: { premium($0) },
                ask: { server in
                    let session = try await server.session(of: "anna")
                    let refused = try await server.send(session.request(method, target, fields, body: body))
                    // With another claim it may.
                    #expect(try await server.signIn(session, "anna premium").status == 200)
                    #expect(try await server.send(session.request("GET", "/features/probe/state")).status == 200)
                    return refused
                }),
            RefusalCase(
                operation, .forbidden, when: "the session is anonymous", content: { premium($0) },
                ask: { server in
                    try await server.send(try await server.session().request(method, target, fields, body: body))
                }),
        ]
    }

    private static let intentRules: [RefusalCase] = [
        rule(
            .targetNotFound, when: "a rule says that its target does not exist", "no-such-booking",
            #"{"type":"cancel","number":1}"#),
        rule(.intentConflict, when: "a rule says that it conflicts", "sold-out", #"{"type":"confirm"}"#),
        rule(
            .intentRefused, when: "a rule refuses it with a code", "coupon-expired",
            #"{"type":"redeem","code":"SPRING"}"#),
        rule(.forbidden, when: "a rule forbids it with a code", "not-yours", #"{"type":"leave"}"#),
        RefusalCase(
            "sendIntent", .checkTimeout, when: "the feature's check times out",
            content: { Booking.content($0) },
            ask: { server in
                let session = try await server.session()
                async let answer = server.send(session.intent(#"{"type":"book"}"#, to: "booking"))
                await server.clock.sleepers(atLeast: 1)
                server.clock.advance(by: .seconds(5))
                return try await answer
            }),
    ]

    private static func rule(_ type: ProblemType, when: String, _ code: String, _ body: String) -> RefusalCase {
        RefusalCase(
            "sendIntent", type, when: when, content: { Booking.content($0) },
            ask: { server in
                let refused = try await server.send(try await server.session().intent(body, to: "booking"))
                #expect(try refused.json(TestResponse.Problem.self).code == code)
                return refused
            })
    }
}
