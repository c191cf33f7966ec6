import Locking

/// Measures a server through the address that its clients use.
///
/// It makes its own sessions and ends them. It reads the state of one feature without a key and disposes it. It sends
/// no intent that a feature accepts.
final class Examination: Sendable {
    let options: DoctorOptions
    let link: ServerLink
    let decoding: ServerLink
    let sessions: SessionKeeper
    private let measured: Lock<Measurements>

    init(_ options: DoctorOptions) {
        self.options = options
        link = ServerLink(options, decodes: false)
        decoding = ServerLink(options, decodes: true)
        sessions = SessionKeeper(link)
        measured = Lock(Measurements(options.address))
    }

    /// Measures everything in a bounded time and ends its sessions. Called once. A canceled task returns the
    /// measurements so far.
    ///
    /// - Throws: ``Unreachable`` if there is no such server.
    func run() async throws(Unreachable) -> Measurements {
        let refusal = await within(options.longestTime) { [self] () -> Unreachable?? in
            do throws(Unreachable) {
                try await reach()
            } catch {
                return .some(error)
            }
            await measure()
            return .some(nil)
        }
        await sessions.endAll()
        link.close()
        decoding.close()
        if let refusal, let refusal { throw refusal }
        return measured.withLock { $0 }
    }

    /// The number of sessions that could not be ended.
    var openSessions: Int { sessions.count }

    func note(_ change: @Sendable (inout Measurements) -> Void) { measured.withLock { change(&$0) } }

    func read<Value>(_ part: (Measurements) -> Value) -> Value { measured.withLock { part($0) } }

    /// Checks that the server is reachable.
    private func reach() async throws(Unreachable) {
        let exchange = await link.send("GET", "/features")
        let answer: Answer
        switch exchange {
        case .failure(let reason):
            throw Unreachable(
                "\(options.address) gives no answer (\(reason)). Check the address, that the server runs, and for https its certificate (--certificate trusts your own)."
            )
        case .answer(let found): answer = found
        }
        if 300...399 ~= answer.status, let place = answer["location"] {
            throw Unreachable(
                "\(options.address) redirects to \(Readable.text(place)). Give doctor the final address."
            )
        }
        guard answer.problem != "wrong-host" else {
            throw Unreachable(
                "The server behind \(options.address) refuses the Host that reaches it (421 wrong-host). Start it with --public-url \(options.address), and have the proxy pass Host on (nginx: proxy_set_header Host $http_host; Apache: ProxyPreserveHost On)."
            )
        }
        guard answer.status == 200, Wire.read(FeatureList.self, answer.body) != nil else {
            throw Unreachable(
                "\(options.address) answers GET /features with \(ProxyChecks.words(exchange)), expected a list of features. Give the address of the server's root, and the fields that the proxy requires with --header."
            )
        }
        note { measured in
            measured.http = answer.http
            (measured.serverField, measured.viaField) = (answer["server"], answer["via"])
            measured.dated.append(answer)
        }
    }

    private func measure() async {
        await measureRoundTrips()
        await measureArrival()
        await measureHealth()
        let (session, exchange) = await sessions.make()
        guard let session else { return note { $0.sessionRefusal = exchange } }
        async let quiet: Void = watchQuietStream()
        let feature = await usableFeature(session)
        await measureStreams(session, feature)
        await measureTogether()
        await measureIntents(feature)
        await measureCookie()
        await measureBodies(feature)
        await quiet
    }

    /// Measures small requests on an open connection, which are refusals as well.
    private func measureRoundTrips() async {
        for number in 0..<5 {
            let exchange = await link.send("GET", "/sessions/current")
            note { measured in
                if number == 0 {
                    measured.refusals.append(
                        ExaminedRefusal(
                            request: "GET /sessions/current without a credential", status: 401, exchange: exchange))
                }
                guard let answer = exchange.answer else { return }
                measured.roundTrips.append(answer.took)
                measured.dated.append(answer)
            }
            // Stops after a request without an answer.
            guard exchange.answer != nil else { return }
        }
        for (method, target, status) in [("GET", "/mvi-doctor", 404), ("DELETE", "/features", 405)] {
            let exchange = await link.send(method, target)
            note {
                $0.refusals.append(ExaminedRefusal(request: "\(method) \(target)", status: status, exchange: exchange))
            }
        }
    }

    private func measureArrival() async {
        let path = "/diagnostics/request"
        let plain = await link.send("GET", path)
        let forged = await link.send(
            "GET", path,
            [
                ("X-Forwarded-For", Measurements.forgedClient), ("Forwarded", "for=\(Measurements.forgedClient)"),
            ])
        note { measured in
            measured.arrival = Self.arrival(plain)
            measured.forgedArrival = Self.arrival(forged)
        }
    }

    private static func arrival(_ exchange: Attempt) -> RequestArrival? {
        guard let answer = exchange.answer, answer.status == 200 else { return nil }
        return Wire.read(RequestArrival.self, answer.body)
    }

    private func measureHealth() async {
        let (live, ready) = (await link.send("GET", "/health/live"), await link.send("GET", "/health/ready"))
        note { ($0.live, $0.ready) = (live, ready) }
        guard let admin = options.admin else { return }
        let adminLive = await link.send("GET", "/health/live", to: admin)
        let adminReady = await link.send("GET", "/health/ready", to: admin)
        note { ($0.adminLive, $0.adminReady) = (adminLive, adminReady) }
    }

    /// The first feature without a key whose state this session may read. It then has a store.
    private func usableFeature(_ session: SessionKeeper.Session) async -> String? {
        guard let answer = await link.send("GET", "/features", [session.field]).answer,
            let list = Wire.read(FeatureList.self, answer.body)
        else { return nil }
        for feature in list.features.filter({ !$0.keyed }).prefix(5) where Self.isName(feature.id) {
            if await link.send("GET", "/features/\(feature.id)/state", [session.field]).status == 200 {
                await link.send("DELETE", "/features/\(feature.id)/state", [session.field])
                return feature.id
            }
        }
        return nil
    }

    /// True if a name from another machine is valid in a path.
    private static func isName(_ text: String) -> Bool {
        1...48 ~= text.utf8.count
            && text.utf8.allSatisfy { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || $0 == UInt8(ascii: "-") }
    }
}
