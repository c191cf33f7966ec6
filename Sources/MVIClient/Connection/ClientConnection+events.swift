import EventStream
import WireJSON

/// Processing of the stream's events.
extension ClientConnection {
    private struct Hello: Decodable {
        var session: String
        var epoch: String
        var heartbeat: Double?
    }
    private struct StateEvent: Decodable {
        var feature: String
        var version: UInt64
        var intent: String?
        var state: JSONText
    }
    private struct PatchEvent: Decodable {
        var feature: String
        var from: UInt64
        var to: UInt64
        var intent: String?
        var patch: JSONText
    }
    private struct LabelEvent: Decodable {
        var feature: String
        var version: UInt64
        var intent: String?
        var id: String
        var replay: Bool?
        var expiresIn: Double?
        var label: JSONText
    }
    private struct PresenceEvent: Decodable {
        var feature: String
        var count: Int
        var viewers: [JSONText]
    }
    private struct FeatureEvent: Decodable { var feature: String }
    private struct ResetEvent: Decodable {
        var reason: String
        var labelsLost: Bool?
    }
    private struct GoAwayEvent: Decodable {
        var reason: String
        var retry: Double?
    }

    mutating func deliver(_ feature: String, _ delivery: IntentDelivery) {
        commands.append(.deliver(feature: feature, delivery))
    }

    /// Processes an event. Unknown events are ignored.
    mutating func take(_ event: ParsedEvent) {
        do throws(WireDecodingError) {
            switch event.name {
            case "hello": greet(try WireJSON.decode(Hello.self, from: event.data))
            case "state": show(try WireJSON.decode(StateEvent.self, from: event.data))
            case "patch": patch(try WireJSON.decode(PatchEvent.self, from: event.data))
            case "label": hand(try WireJSON.decode(LabelEvent.self, from: event.data))
            case "presence":
                let presence = try WireJSON.decode(PresenceEvent.self, from: event.data)
                guard watched.contains(presence.feature) else { break }
                see(StorePresence(count: presence.count, shown: presence.viewers), at: presence.feature)
            case "end": lose(try WireJSON.decode(FeatureEvent.self, from: event.data).feature, .ended)
            case "denied": lose(try WireJSON.decode(FeatureEvent.self, from: event.data).feature, .denied)
            case "reset":
                let reset = try WireJSON.decode(ResetEvent.self, from: event.data)
                endShownWaits { _ in true }
                for feature in watched.sorted() {
                    deliver(feature, .reset(reason: reset.reason, labelsLost: reset.labelsLost ?? true))
                }
            case "identity": wantIdentity(isNeeded: false)
            case "goaway": goAway(try WireJSON.decode(GoAwayEvent.self, from: event.data))
            default: break
            }
        } catch {
            commands.append(.report("An event \"\(event.name)\" of the stream cannot be read: \(error)"))
            loseStream()
        }
    }

    /// Ends what is known of a store.
    mutating func lose(_ feature: String, _ delivery: IntentDelivery) {
        endShownWaits { $0.intent.feature == feature }
        guard watched.contains(feature) else { return }
        deliver(feature, delivery)
        see(nil, at: feature)
    }

    private mutating func see(_ presence: StorePresence?, at feature: String) {
        guard stream.presences[feature] != presence else { return }
        stream.presences[feature] = presence
        deliver(feature, .presence(presence))
    }

    mutating func forgetPresences() {
        for feature in stream.presences.keys.sorted() { see(nil, at: feature) }
    }

    private mutating func greet(_ hello: Hello) {
        guard case .open(var open) = stream.phase else { return }
        if let id = session.id, id != hello.session {
            guard settings.credential == .cookie else {
                // A token is of one session, so this is not its stream: a proxy may have mixed up answers.
                commands.append(.report("A stream of another session is left."))
                return loseStream()
            }
            failIntentsOfOtherSession()
        }
        let isSame = hello.session == session.id
        if !isSame || hello.epoch != session.epoch { forgetLog(keepsPresences: isSame) }
        session.id = hello.session
        session.epoch = hello.epoch
        sessionWasTaken()
        stream.attempts = 0
        if let seconds = hello.heartbeat, seconds > 0 { open.heartbeat = .seconds(min(seconds, 3_600)) }
        open.isLive = true
        open.shown = []
        stream.phase = .open(open)
        // The server is reachable again, so intents are retried at once.
        intents.retryNow(at: now)
    }

    private mutating func show(_ event: StateEvent) {
        guard case .open(var open) = stream.phase, watched.contains(event.feature) else { return }
        if open.shown.contains(event.feature), let shown = stream.shown[event.feature], event.version < shown.version {
            return
        }
        open.shown.insert(event.feature)
        stream.phase = .open(open)
        show(event.version, event.intent, event.state.bytes, of: event.feature)
    }

    private mutating func show(_ version: UInt64, _ intent: String?, _ state: [UInt8], of feature: String) {
        stream.shown[feature] = ClientStream.Shown(version: version, state: state)
        deliver(feature, .state(version: version, intent: intent, state))
        endShownWaits { $0.intent.feature == feature && $0.receipt.version <= version }
    }

    private mutating func patch(_ event: PatchEvent) {
        guard let open = stream.open, watched.contains(event.feature) else { return }
        guard open.asksForPatches, open.shown.contains(event.feature), event.to >= event.from,
            let shown = stream.shown[event.feature], shown.version == event.from,
            let state = settings.delta?.apply(event.patch.bytes, to: shown.state)
        else {
            // Each stream begins with whole states, so a new one repairs any error.
            stream.failedPatches += 1
            commands.append(.report("A patch of \"\(event.feature)\" cannot be applied; the stream is reopened."))
            return closeStream()
        }
        stream.failedPatches = 0
        show(event.to, event.intent, state, of: event.feature)
    }

    private mutating func hand(_ event: LabelEvent) {
        guard stream.seen.insert(event.id), watched.contains(event.feature) else { return }
        let end = event.expiresIn.map { now + .seconds(min(max($0, 0), 1e9)) }
        deliver(
            event.feature,
            .label(
                StreamLabel(
                    id: event.id, version: event.version, intent: event.intent, isReplay: event.replay ?? false,
                    end: end, label: event.label.bytes)))
    }

    private mutating func goAway(_ event: GoAwayEvent) {
        let generation = stream.open?.generation
        closeStream()
        switch event.reason {
        case "superseded": stream.phase = .paused
        case "ended": endSession()
        case "expired": forgetSession()
        case "identity":
            // After a sign-in, the streams of the old credential end when the new one is already in use.
            if generation == session.generation { wantIdentity(isNeeded: true) }
        default:
            let retry = event.retry.map { Duration.milliseconds(min(max($0, 0), 86_400_000)) } ?? stream.retryBase
            stream.phase = .waiting(until: now + pace.asked(retry))
            stream.isAskedTo = true
        }
    }
}
