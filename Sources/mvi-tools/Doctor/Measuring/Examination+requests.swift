/// Measurements of intents, their fields and bodies, states' tags and cookies.
extension Examination {
    /// The first is the server's default limit.
    private static let bodySizes = [Measurements.usualBodyLimit, 262_144, 65_536, 16_384, 1_024]

    /// Sends a body that is no valid intent of any feature; it is refused before a store is made.
    func sendNoIntent(
        _ session: SessionKeeper.Session, _ feature: String, _ fields: [(name: String, value: String)] = [],
        bytes: Int = 0, expectsContinue: Bool = false
    ) async -> Attempt {
        var body = Array(#"{"type":"mvi-doctor""#.utf8)
        if bytes > 0 {
            body += Array(#","padding":""#.utf8)
            body += [UInt8](repeating: UInt8(ascii: "."), count: max(0, bytes - body.count - 2))
            body.append(UInt8(ascii: "\""))
        }
        body.append(UInt8(ascii: "}"))
        return await link.send(
            "POST", "/features/\(feature)/intents", [session.field] + fields, body: body,
            expectsContinue: expectsContinue)
    }

    func measureIntents(_ feature: String?) async {
        guard let session = await sessions.make().session else { return }
        let name = feature ?? "mvi-doctor"
        let own = await sendNoIntent(session, name, [("Origin", "\(options.address)")])
        let foreign = await sendNoIntent(session, name, [("Origin", "https://mvi-doctor.invalid")])
        let site = await sendNoIntent(session, name, [("Sec-Fetch-Site", "cross-site")])
        note { ($0.ownOrigin, $0.foreignOrigin, $0.foreignSite) = (own, foreign, site) }
        if let feature {
            let key = "\"" + String(repeating: "k", count: 300) + "\""
            let long = await sendNoIntent(session, feature, [("Idempotency-Key", key)])
            let plain = await sendNoIntent(session, feature)
            note { measured in
                measured.longKey = long
                measured.refusals.append(
                    ExaminedRefusal(request: "POST of no intent", status: 422, exchange: plain))
            }
            await measureTags(session, feature)
        }
        await sessions.end(session)
    }

    /// Repeats the measurement if the state changed meanwhile.
    private func measureTags(_ session: SessionKeeper.Session, _ feature: String) async {
        let path = "/features/\(feature)/state"
        let encodings = [session.field, ("Accept-Encoding", "gzip, deflate, br")]
        for _ in 0..<3 {
            guard let before = await link.send("GET", path, [session.field]).answer?["etag"] else { return }
            let compressed = await link.send("GET", path, encodings).answer?["etag"]
            var conditional: Int?
            if let compressed {
                conditional = await link.send("GET", path, encodings + [("If-None-Match", compressed)]).status
            }
            guard await link.send("GET", path, [session.field]).answer?["etag"] == before else { continue }
            let json = await link.send("GET", "/features", encodings).answer?["content-encoding"]
            let sample = TagSample(
                plain: before, compressed: compressed, conditional: conditional, jsonEncoding: json)
            return note { $0.tags = sample }
        }
    }

    func measureCookie() async {
        let (session, made) = await sessions.makeByCookie()
        var used: Attempt?
        if let session { used = await link.send("GET", "/sessions/current", [session.field]) }
        let sample = CookieSample(made: made, used: used)
        note { $0.cookie = sample }
        if let session { await sessions.end(session) }
    }

    /// Sends smaller and smaller bodies until one reaches the server, which reads it completely before it refuses it.
    func measureBodies(_ feature: String?) async {
        guard let session = await sessions.make().session else { return }
        let name = feature ?? "mvi-doctor"
        for bytes in Self.bodySizes {
            let exchange = await sendNoIntent(session, name, bytes: bytes)
            note { $0.bodies.append((bytes, exchange)) }
            guard exchange.answer?.problem != nil else { continue }
            if bytes == Measurements.usualBodyLimit {
                // The refusal of a larger body can be lost in the reset of its connection, so it is awaited before the body.
                let more = await sendNoIntent(session, name, bytes: bytes + 1, expectsContinue: true)
                if more.answer != nil { note { $0.bodies.append((bytes + 1, more)) } }
            }
            break
        }
        await sessions.end(session)
    }
}
