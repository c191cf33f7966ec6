import Locking
import MVI
import MicroHTTP
import Networks
import Sessions

/// `/features/{id}/events` and `/events`.
struct StreamEndpoints: Sendable {
    let sessions: SessionTable
    let credentials: CallerResolver
    let crossSite: CrossSiteRule
    let quotas: AddressQuotas
    /// Nil for a server without other nodes.
    let forwarder: Forwarder?
    /// Counts limits for which streams are postponed.
    let limits: LimitMetrics

    private var features: FeatureRegistry { sessions.environment.features }

    var all: [Route] {
        [
            Route(
                "streamFeature", .get, "/features/{id}/events", checkPath: Incoming.checkFeature(features),
                sessionFallback: answer, .session(ofFeature)),
            Route("streamSession", .get, "/events", sessionFallback: answer, .session(ofSession)),
        ]
    }

    @Sendable
    private func ofFeature(_ incoming: Incoming, _ caller: Caller) throws(Problem) -> Route.Answer {
        try stream(incoming, caller, Self.parameters) { () throws(Problem) in
            features.filter(of: try incoming.feature(features))
        }
    }

    @Sendable
    private func ofSession(_ incoming: Incoming, _ caller: Caller) throws(Problem) -> Route.Answer {
        try stream(incoming, caller, ["feature"] + Self.parameters) { () throws(Problem) in
            let named = QueryItems(incoming.head.query).values("feature")
            guard !named.isEmpty else { return .all }
            var ids: Set<FeatureID> = []
            let limit = sessions.environment.limits.loadedStores
            for text in named {
                ids.insert(try Incoming.feature(text, features))
                guard ids.count <= limit else {
                    throw Problem(.tooManyStores, "A stream can name at most \(limit) feature instances.")
                }
            }
            return .features(Array(ids))
        }
    }

    /// The query parameters of every stream.
    private static let parameters = ["delta", "last_event_id"]

    private func stream(
        _ incoming: Incoming, _ caller: Caller, _ parameters: [String], _ filter: () throws(Problem) -> StreamFilter
    ) throws(Problem) -> Route.Answer {
        if caller.isByCookie { try crossSite.checkStream(incoming.fields) }
        try QueryItems(incoming.head.query).checkNames(parameters)
        let filter = try filter()
        guard MediaTypes.accepts(type: "text", subtype: "event-stream", incoming.fields) else {
            throw Problem(.notAcceptable, "The request's `Accept` excludes text/event-stream.")
        }
        try checkAccess(filter, caller)
        try checkRate(filter, incoming, caller)
        let delta = try delta(incoming)
        if incoming.isHead { return try head(filter, incoming, caller) }
        let start = StreamStart(lastEventID: lastEventID(incoming))
        let wantsProblem = Preferences(incoming.fields).problem
        return { _, reply in
            let place: NetworkPlaces.Place
            do throws(NetworkPlaces.Refusal) { place = try quotas.takeStream(incoming.head) } catch {
                return putOff(.busy, Self.problem(error), wantsProblem, reply)
            }
            let shown = ShownStores(filter, for: caller, features)
            show(shown, incoming, caller, start, delta, place, wantsProblem, reply)
        }
    }

    /// Opens a stream, after the owner of the caller's session has made what is missing there.
    private func show(
        _ shown: ShownStores, _ incoming: Incoming, _ caller: Caller, _ start: StreamStart, _ delta: DeltaForm?,
        _ place: NetworkPlaces.Place, _ wantsProblem: Bool, _ reply: Reply
    ) {
        let withoutRoom = Lock<[FeatureID]>([])
        let open: Forwarder.Attempt = { done in
            self.open(
                shown, without: withoutRoom.withLock { $0 }, start, delta, incoming, caller, place,
                wantsProblem: wantsProblem, reply, done)
        }
        let named: [FeatureID]? = if case .features(let own) = shown.own { own } else { nil }
        let make: @Sendable () -> Void = {
            let missing = caller.session.missing(named, for: caller, features)
            self.make(missing, incoming, caller.session, withoutRoom, again: open) {
                refuse($0, caller, wantsProblem, reply)
            }
        }
        if !caller.session.missing(named, for: caller, features, onlyObserved: true).isEmpty { return make() }
        open { isAnswered in if !isAnswered { make() } }
    }

    /// Opens the part of a space, after its owner has made what is missing there.
    ///
    /// - Parameter relayed: receives the owner's refusal.
    private func open(
        _ space: ShownStores.Space, _ incoming: Incoming, _ caller: Caller, relayed: Lock<Forwarder.Refusal?>,
        _ open: @escaping StreamBundle.Attempt, _ refuse: @escaping @Sendable (StoreError) -> Void
    ) {
        let named = space.features
        sessions.space(space.name, permit: permit(named, incoming, caller)) { lookup in
            switch lookup.space(for: named[0]) {
            case .failure(let error): refuse(error)
            case .success(let space):
                let make: @Sendable () -> Void = {
                    let missing = space.missing(named, for: caller, features)
                    self.make(missing, incoming, space, nil, again: { open(space, $0) }) { refusal in
                        relayed.withLock { $0 = refusal }
                        refuse(refusal.error)
                    }
                }
                if !space.missing(named, for: caller, features, onlyObserved: true).isEmpty { return make() }
                open(space) { isOpen in if !isOpen { make() } }
            }
        }
    }

    private static func problem(_ refusal: NetworkPlaces.Refusal) -> Problem {
        switch refusal {
        case .ofNetwork:
            Problem(
                .tooManyConnections,
                "Your address has too many streams open, or its network has most of them while few are left.",
                retryAfter: .seconds(10))
        case .ofAll:
            Problem(
                .tooManyStreams, "Too many streams are open.", retryAfter: .seconds(10))
        }
    }

    /// Has the owner of a session make stores and observe for them, then tries to open the stream or its part here.
    private func make(
        _ missing: [FeatureID], _ incoming: Incoming, _ session: Session, _ withoutRoom: Lock<[FeatureID]>?,
        again: @escaping Forwarder.Attempt, refuse: @escaping @Sendable (Forwarder.Refusal) -> Void
    ) {
        guard let forwarder else { return refuse(.problem(Forwarder.unreachable)) }
        forwarder.makeStores(
            missing, incoming, ForwardedSession(session), withoutRoom: withoutRoom, again: again, refuse: refuse)
    }

    private func refuse(_ refusal: Forwarder.Refusal, _ caller: Caller, _ wantsProblem: Bool, _ reply: Reply) {
        switch refusal {
        case .problem(let problem) where problem.type.status == 503: putOff(.busy, problem, wantsProblem, reply)
        case .problem(let problem): reply.refuse(problem)
        case .relayed(let response): refuse(response, caller, wantsProblem, reply)
        }
    }

    /// Answers with another node's refusal, in the form of this endpoint.
    private func refuse(_ relayed: Response, _ caller: Caller, _ wantsProblem: Bool, _ reply: Reply) {
        if relayed.problemName == ProblemType.sessionEnded.name {
            return reply.answer(Self.ended)
        }
        guard Self.passing.contains(relayed.status) else { return reply.answer(relayed) }
        guard wantsProblem else {
            let farewell = StreamEvents.goAway(.busy, retry: nil)
            return reply.answer(Response(status: 200, fields: AnswerFields.stream, body: .bytes(farewell)))
        }
        var relayed = relayed
        relayed.fields.append(ResponseField("Preference-Applied", "problem"))
        reply.answer(relayed)
    }

    /// The statuses of temporary problems.
    private static let passing: Set<Int> = [429, 503, 507]

    /// Refuses a stream without any visible feature. A stream with some visible features shows only those.
    private func checkAccess(_ filter: StreamFilter, _ caller: Caller) throws(Problem) {
        guard case .features(let named) = filter, let first = named.first,
            !named.contains(where: { features.allows(caller.principal, $0, .read) })
        else { return }
        try features.checkAccess(to: first, caller.principal, .read)
    }

    /// Counts each key without a store as an intent: both call the key's maker.
    private func checkRate(_ filter: StreamFilter, _ incoming: Incoming, _ caller: Caller) throws(Problem) {
        guard case .features(let named) = filter else { return }
        for feature in named where features.space(of: feature) == nil && caller.makes(feature) {
            try caller.checkRate(incoming)
        }
    }

    /// The `Last-Event-ID` that browsers send, before that of the query, which pages can choose. A malformed id counts
    /// as unknown: the stream sends a reset, since an EventSource stops forever at a 400.
    private func lastEventID(_ incoming: Incoming) -> String? {
        if let field = incoming.fields["last-event-id"], !field.isEmpty { return field }
        return QueryItems(incoming.head.query).values("last_event_id").first.map { $0 ?? "?" }
    }

    /// The requested form of changes; nil for whole states.
    private func delta(_ incoming: Incoming) throws(Problem) -> DeltaForm? {
        guard let name = QueryItems(incoming.head.query).values("delta").first else { return nil }
        guard let form = DeltaForm.allCases.first(where: { $0.name == name }) else {
            throw Problem(
                .badRequest,
                "`delta` in the query is neither \(DeltaForm.allCases.map { "`\($0.name)`" }.joined(separator: " nor "))."
            )
        }
        return form
    }

    /// Answers `HEAD`: opens no stream, makes no store, and answers permanent refusals.
    private func head(
        _ filter: StreamFilter, _ incoming: Incoming, _ caller: Caller
    ) throws(Problem) -> Route.Answer {
        if case .features(let named) = filter {
            try checkInstances(named.filter { features.space(of: $0) == nil }, of: caller.session, caller)
        }
        return { _, reply in
            let wantsProblem = Preferences(incoming.fields).problem
            if let refusal = caller.session.refusal(of: caller.client) {
                return refuse(refusal, filter, caller, wantsProblem, reply)
            }
            head(ShownStores(filter, for: caller, features).spaces[...], filter, incoming, caller, wantsProblem, reply)
        }
    }

    private func head(
        _ spaces: ArraySlice<ShownStores.Space>, _ filter: StreamFilter, _ incoming: Incoming, _ caller: Caller,
        _ wantsProblem: Bool, _ reply: Reply
    ) {
        guard let (name, named) = spaces.first else {
            return reply.answer(Response(status: 200, fields: AnswerFields.stream))
        }
        sessions.space(name, permit: permit(named, incoming, caller)) { lookup in
            switch lookup.space(for: named[0]) {
            case .failure(let error): return refuse(error, filter, caller, wantsProblem, reply)
            case .success(let space):
                do throws(Problem) { try checkInstances(named, of: space, caller) } catch { return reply.refuse(error) }
            }
            head(spaces.dropFirst(), filter, incoming, caller, wantsProblem, reply)
        }
    }

    /// Nil if only code on the server makes the spaces of a feature.
    private func permit(_ named: [FeatureID], _ incoming: Incoming, _ caller: Caller) -> (@Sendable () -> Duration?)? {
        features.makesSpaces(of: named[0]) ? quotas.permit(incoming.head, caller.session) : nil
    }

    /// Refuses instances without a store that the caller may read and that do not exist.
    private func checkInstances(
        _ named: [FeatureID], of session: Session, _ caller: Caller
    ) throws(Problem) {
        for feature in named where !session.hasStore(feature) && features.allows(caller.principal, feature, .read) {
            do throws(StoreError) { _ = try session.initialState(of: feature, for: caller.client) } catch {
                throw Problem(error, feature)
            }
        }
    }

    private func open(
        _ shown: ShownStores, without withoutRoom: [FeatureID], _ start: StreamStart, _ delta: DeltaForm?,
        _ incoming: Incoming, _ caller: Caller, _ place: NetworkPlaces.Place, wantsProblem: Bool, _ reply: Reply,
        _ done: @escaping @Sendable (_ isAnswered: Bool) -> Void
    ) {
        guard !sessions.isDraining else {
            let problem = Problem(.draining, "The server is stopping and opens no streams.", retryAfter: .seconds(2))
            putOff(.drain, problem, wantsProblem, reply)
            return done(true)
        }
        let relayed = Lock<Forwarder.Refusal?>(nil)
        let opened: @Sendable (Result<any ClientStream, StoreError>) -> Void = { result in
            switch result {
            case .success(let stream):
                // Until it is closed, when it leaves the place.
                place.onGiveWay { stream.goAway(.busy) }
                // The server may have begun to stop since the check above, without notifying this stream.
                if sessions.isDraining { stream.goAway(.drain) }
                reply.answer(
                    Response(status: 200, fields: AnswerFields.stream, body: .stream(stream)))
            case .failure(let error) where error.code == .elsewhere: return done(false)
            case .failure(let refusal):
                if let relayed = relayed.withLock({ $0 }) {
                    refuse(relayed, caller, wantsProblem, reply)
                } else {
                    refuse(refusal, shown.filter, caller, wantsProblem, reply)
                }
            }
            done(true)
        }
        guard !shown.isOfSeveral else {
            let parts = shown.spaces.map { space in
                StreamBundle.Named(space.name, space.features) {
                    self.open(space, incoming, caller, relayed: relayed, $0, $1)
                }
            }
            return StreamBundle.open(
                caller.session, shown.ownFeatures, parts, denied: shown.denied,
                withoutRoom: shown.withoutRoom, from: start, delta: delta, for: caller.client, holding: place
            ) { opened($0.map { $0 }) }
        }
        caller.session.openStream(
            shown.own, without: withoutRoom, from: start, delta: delta, for: caller.client, holding: place
        ) { opened($0.map { $0 }) }
    }

    /// Answers a stream without a usable session: 204 if the session has ended, or the result of `putOff` for a
    /// temporary problem. Throws permanent refusals. No `EventSource` sends `HEAD`.
    @Sendable
    private func answer(sessionFallback problem: Problem, _ incoming: Incoming) throws(Problem) -> Response {
        switch problem.type {
        case .sessionEnded: return Self.ended
        case .identityExpired:
            guard !incoming.isHead else { throw problem }
            return try putOff(
                .identity, problem, Preferences(incoming.fields).problem, retry: GoAwayReason.retryAfterExpiry())
        case .journalUnavailable, .storageFull, .tooManySessions, .tooManyRequests:
            guard !incoming.isHead else { throw problem }
            return try putOff(.busy, problem, Preferences(incoming.fields).problem)
        default: throw problem
        }
    }

    private func refuse(
        _ error: StoreError, _ filter: StreamFilter, _ caller: Caller, _ wantsProblem: Bool, _ reply: Reply
    ) {
        var feature: FeatureID?
        if case .features(let features) = filter, features.count == 1 { feature = features.first }
        if error.code == .gone || error.code == .signedOut {
            return reply.answer(Self.ended)
        }
        if error.code == .identityExpired, !wantsProblem {
            return putOff(.identity, IdentityRule.expired, false, reply, retry: GoAwayReason.retryAfterExpiry())
        }
        let problem = Problem(error, feature)
        // Only temporary problems are postponed.
        guard Self.passing.contains(problem.type.status) else { return reply.refuse(problem) }
        putOff(.busy, problem, wantsProblem, reply)
    }

    private func putOff(
        _ reason: GoAwayReason, _ problem: Problem, _ wantsProblem: Bool, _ reply: Reply, retry: Int? = nil
    ) {
        do throws(Problem) { reply.answer(try putOff(reason, problem, wantsProblem, retry: retry)) } catch {
            reply.refuse(error)
        }
    }

    /// Postpones a stream. Browsers stop forever at 429 and 503, so the answer is a stream that sends a time to
    /// reconnect and ends. If the client asks for the problem, it is thrown.
    private func putOff(
        _ reason: GoAwayReason, _ problem: Problem, _ wantsProblem: Bool, retry: Int? = nil
    ) throws(Problem) -> Response {
        guard wantsProblem else {
            limits.reached(problem.type)
            let farewell = StreamEvents.goAway(reason, retry: retry)
            return Response(status: 200, fields: AnswerFields.stream, body: .bytes(farewell))
        }
        var problem = problem
        problem.fields.append(ResponseField("Preference-Applied", "problem"))
        throw problem
    }

    /// The answer for a stream of an ended session: at 204 an EventSource stops forever.
    private static let ended = Response(status: 204, fields: AnswerFields.sessionEmpty)
}

extension StreamHandle: StreamWaker {}

/// A stream as a client has opened it.
private protocol ClientStream: StreamSource {
    func goAway(_ reason: GoAwayReason)
    func opened(_ waker: any StreamWaker)
    func ping() -> [UInt8]
    func closed(_ ending: StreamEnding)
}

/// The HTTP layer's interface to a session's stream: provides bytes when the socket has room, and is notified once of
/// the end.
extension SessionStream: StreamSource, ClientStream {}
extension StreamBundle: StreamSource, ClientStream {}

extension ClientStream {
    package func opened(_ handle: StreamHandle) { opened(handle as any StreamWaker) }

    package func heartbeat() -> [UInt8]? { ping() }

    package func aged() { goAway(.rotate) }

    package func closed(_ reason: StreamEnd) {
        switch reason {
        case .peerClosed: closed(.left)
        case .writeDeadline: closed(.slow)
        case .finished, .error, .shutdown: closed(.cut)
        }
    }
}
