import Locking
import WireJSON

/// Makes sessions and ends all of them.
final class SessionKeeper: Sendable {
    /// A session that doctor made.
    struct Session: Sendable, Hashable {
        /// The field of requests that names the session.
        let name: String
        let value: String

        var field: (name: String, value: String) { (name, value) }
    }

    private let link: ServerLink
    private let open = Lock<Set<Session>>([])

    init(_ link: ServerLink) { self.link = link }

    /// The number of sessions that have not been ended.
    var count: Int { open.withLock { $0.count } }

    /// Makes a session with a bearer token. Returns it, or the refusal.
    func make() async -> (session: Session?, exchange: Attempt) {
        let exchange = await create("bearer")
        guard let answer = exchange.answer, 200...201 ~= answer.status,
            let token = Wire.read(CreatedSession.self, answer.body)?.token, Self.isSendable(token)
        else { return (nil, exchange) }
        return (keep("Authorization", "Bearer \(token)"), exchange)
    }

    /// Makes a session with a cookie; nil without a cookie.
    func makeByCookie() async -> (session: Session?, exchange: Attempt) {
        let exchange = await create("cookie")
        guard let cookie = CookieSample(made: exchange, used: nil).setCookie else { return (nil, exchange) }
        let pair = String(cookie.prefix { $0 != ";" })
        return Self.isSendable(pair) ? (keep("Cookie", pair), exchange) : (nil, exchange)
    }

    /// Ends a session once; false if the server did not confirm it.
    @discardableResult
    func end(_ session: Session) async -> Bool {
        guard open.withLock({ $0.contains(session) }) else { return true }
        let status = await link.send("DELETE", "/sessions/current", [session.field]).status
        guard let status, 200...299 ~= status || status == 404 else { return false }
        open.withLock { _ = $0.remove(session) }
        return true
    }

    /// Ends all sessions, also in a canceled task.
    func endAll() async {
        await Task { [self] in
            await withTaskGroup(of: Void.self) { group in
                for session in open.withLock({ $0 }) { group.addTask { _ = await self.end(session) } }
            }
        }.value
    }

    private func keep(_ name: String, _ value: String) -> Session {
        let session = Session(name: name, value: value)
        open.withLock { _ = $0.insert(session) }
        return session
    }

    private func create(_ credential: String) async -> Attempt {
        var body = Array(#"{"credential":"\#(credential)""#.utf8)
        if let identity = link.options.identity {
            body += Array(#","identity":"#.utf8)
            WireJSON.appendString(identity, to: &body)
        }
        body.append(UInt8(ascii: "}"))
        return await link.send("POST", "/sessions", body: body)
    }

    /// True if a field's value cannot contain another field.
    private static func isSendable(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count < 4_096 && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }
}
