import EventStream
import MVI
import WireJSON

/// Opens, loses and reopens the stream.
extension ClientConnection {
    /// The features that the stream shows.
    var streamFeatures: [String] { watched.filter { stream.refused[$0] == nil }.sorted() }

    var streamDeadline: Duration? {
        if let gatherEnd = stream.gatherEnd { return gatherEnd }
        switch stream.phase {
        case .waiting(let until): return until
        case .open(let open): return open.silenceEnd
        case .closed, .paused, .failed: return nil
        }
    }

    // MARK: Watched stores

    mutating func watch(_ feature: String) {
        guard FeatureID.isValid(feature) else { return deliver(feature, .missing) }
        guard watched.insert(feature).inserted else {
            // For another watcher of the same store.
            if let shown = stream.shown[feature] { deliver(feature, .state(version: shown.version, shown.state)) }
            if let presence = stream.presences[feature] { deliver(feature, .presence(presence)) }
            return
        }
        gatherWatches()
    }

    mutating func unwatch(_ feature: String) {
        guard watched.remove(feature) != nil else { return }
        stream.shown[feature] = nil
        stream.presences[feature] = nil
        stream.refused[feature] = nil
        endShownWaits { $0.intent.feature == feature }
        gatherWatches()
    }

    private mutating func gatherWatches() {
        stream.gatherEnd = stream.gatherEnd ?? now + settings.gatherTime
        // Another set of features may be accepted after a refusal.
        if case .failed = stream.phase { stream.phase = .closed }
    }

    // MARK: Opening

    mutating func advanceStream() {
        if let end = stream.gatherEnd {
            guard end <= now else { return }
            stream.gatherEnd = nil
        }
        let features = streamFeatures
        if features.isEmpty || session.isOver { return closeStream() }
        switch stream.phase {
        case .open(let open) where open.features != features:
            closeStream()
            openStream(features, replacesLive: open.isLive || open.replacesLive)
        case .closed: openStream(features)
        case .waiting(let until) where until <= now: openStream(features)
        case .open, .waiting, .paused, .failed: break
        }
    }

    private mutating func openStream(_ features: [String], replacesLive: Bool = false) {
        guard isOnline, session.isUsable else { return }
        let asksForPatches = settings.delta != nil && stream.failedPatches < ClientStream.failedPatchLimit
        var query = features.map { "feature=\(Self.escaped($0))" }
        if let delta = settings.delta, asksForPatches { query.append("delta=\(delta.rawValue)") }
        var fields = [
            HTTPField("Accept", "text/event-stream"), HTTPField("Cache-Control", "no-store"),
            // Requests refusals with their status, not as a stream that ends at once.
            HTTPField("Prefer", "problem"),
        ]
        if !stream.cursor.isEmpty { fields.append(HTTPField("Last-Event-ID", stream.cursor)) }
        let id = newExchange()
        stream.phase = .open(
            ClientStream.OpenStream(
                id: id, features: features, generation: session.generation, asksForPatches: asksForPatches,
                replacesLive: replacesLive, lastByte: now))
        commands.append(.start(id, request("GET", "/events?" + query.joined(separator: "&"), fields)))
    }

    /// Encodes a feature id for a path or query: all bytes except unreserved ones and the colon become `%XX` (RFC 3986
    /// section 2.1).
    static func escaped(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"), UInt8(ascii: ":"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += "%" + (digits.utf8.count == 1 ? "0" : "") + digits
            }
        }
        return result
    }

    // MARK: Losing

    /// Closes the stream, if there is one. It is reopened as soon as possible.
    mutating func closeStream() {
        switch stream.phase {
        case .open(let open):
            commands.append(.cut(open.id))
            stream.phase = .closed
        case .waiting: stream.phase = .closed
        case .closed, .paused, .failed: break
        }
    }

    /// Handles the loss of the stream. Another attempt follows after a delay.
    mutating func loseStream(_ asked: Duration? = nil) {
        closeStream()
        let delay: Duration
        stream.lost = now
        stream.isAskedTo = asked.map { $0 > .zero } ?? false
        if let asked, stream.isAskedTo {
            delay = pace.asked(asked)
        } else {
            delay = pace.delay(base: stream.retryBase, attempts: stream.attempts)
        }
        stream.phase = .waiting(until: now + delay)
        stream.attempts += 1
    }

    mutating func retryStreamNow(includingPaused: Bool) {
        switch stream.phase {
        case .waiting: stream.phase = .waiting(until: now)
        case .paused where includingPaused: stream.phase = .closed
        case .closed, .open, .paused, .failed: break
        }
    }

    mutating func checkWatchdog() {
        guard case .open(let open) = stream.phase, open.silenceEnd <= now else { return }
        guard open.isLive else { return loseStream() }
        // A connection that was healthy is reopened at once, since a computer that wakes up usually has a user.
        closeStream()
        stream.attempts += 1
    }

    /// Forgets the cursor, versions and label ids, which belong to another log.
    ///
    /// - Parameter keepsPresences: true if it is a log of the same session.
    mutating func forgetLog(keepsPresences: Bool = false) {
        if !keepsPresences { forgetPresences() }
        session.id = nil
        session.epoch = nil
        stream.cursor = ""
        stream.shown = [:]
        stream.seen = SeenLabels()
        endShownWaits { _ in true }
        for feature in watched.sorted() { deliver(feature, .forgotten) }
    }

    // MARK: Answers

    mutating func streamHead(_ answer: HTTPAnswer) {
        guard case .open(var open) = stream.phase else { return }
        open.lastByte = now
        open.isAccepted = answer.status == 200 && answer.mediaType == "text/event-stream"
        if !open.isAccepted { open.refusal = answer }
        stream.phase = .open(open)
        if answer.status == 204 {
            if deferToSignIn() { closeStream() } else { endSession() }
        }
    }

    mutating func streamBytes(_ bytes: [UInt8]) {
        guard case .open(var open) = stream.phase else { return }
        // The following code changes `open` in place.
        stream.phase = .closed
        open.lastByte = now
        guard open.isAccepted else {
            if (open.refusal?.body.count ?? 0) + bytes.count <= Self.answerLimit { open.refusal?.body += bytes }
            stream.phase = .open(open)
            return
        }
        let before = open.parser.lastEventID
        let events: [ParsedEvent]
        do throws(EventParsingError) {
            events = try open.parser.feed(bytes)
        } catch {
            stream.phase = .open(open)
            commands.append(.report("\(error)"))
            return loseStream()
        }
        if let milliseconds = open.parser.retryMilliseconds { stream.retryBase = .milliseconds(milliseconds) }
        let after = open.parser.lastEventID
        let id = open.id
        stream.phase = .open(open)
        for event in events {
            take(event)
            // One that does not greet is another session's.
            if event.name == "hello", stream.open?.id != id { return }
            if let cursor = event.id { stream.cursor = cursor }
            guard stream.open?.id == id else { return }
        }
        // An id without an event.
        if after != before || events.contains(where: { $0.id != nil }) { stream.cursor = after }
    }

    mutating func streamEnd(_ failure: TransportFailure?) {
        guard case .open(let open) = stream.phase else { return }
        // The stream has ended, so there is nothing to cancel.
        stream.phase = .closed
        guard failure == nil, let refusal = open.refusal else { return loseStream() }
        streamRefused(refusal, open)
    }

    private mutating func streamRefused(_ answer: HTTPAnswer, _ open: ClientStream.OpenStream) {
        let problem = ServerProblem(answer)
        // The refused credential has been replaced.
        if open.generation != session.generation { return }
        if answer.mediaType == "text/html" { return loseStream(answer.retryAfter) }
        switch (answer.status, problem.name) {
        case (401, "identity-expired"?), (401, "identity-required"?): wantIdentity(isNeeded: true)
        case (401, _), (404, "session-not-found"?): if !deferToSignIn() { forgetSession() }
        case (404, "session-ended"?), (410, "session-ended"?): if !deferToSignIn() { endSession() }
        case (403, "forbidden"?), (404, "feature-not-found"?), (404, "not-found"?):
            featureRefused(answer.status == 403 ? .denied : .missing, open.features)
        case (400, _), (403, _), (405, _), (406, _):
            stream.phase = .failed(problem)
            commands.append(.report("The server refuses the stream for good: \(problem)."))
        default: loseStream(answer.retryAfter)
        }
    }

    // MARK: Refused features

    /// Requests each feature separately after a stream of several was refused, since the answer does not tell which
    /// one. The others continue.
    private mutating func featureRefused(_ refusal: ClientStream.Refusal, _ features: [String]) {
        if features.count == 1 { return refuse(features[0], refusal) }
        stream.looked = [:]
        for feature in features {
            // Asks for the status of a stream of the feature, without opening it.
            start(.look(feature: feature), request("HEAD", "/events?feature=\(Self.escaped(feature))"))
        }
        // Reopened when the status of all features is known, or after the usual delay.
        loseStream()
        stream.isAskedTo = true
    }

    private mutating func refuse(_ feature: String, _ refusal: ClientStream.Refusal) {
        guard watched.contains(feature), stream.refused.updateValue(refusal, forKey: feature) == nil else { return }
        lose(feature, refusal == .denied ? .denied : .missing)
    }

    mutating func looked(at feature: String, _ result: Result<HTTPAnswer, TransportFailure>) {
        if case .success(let answer) = result, let refusal: ClientStream.Refusal = Self.refusal(of: answer) {
            stream.looked[feature] = refusal
        }
        let isLooking = exchanges.values.contains { if case .look = $0.purpose { true } else { false } }
        guard !isLooking else { return }
        var refused = stream.looked.keys.sorted()
        // HEAD answers have no body. If all are refusals, the session may be missing instead of the features. The
        // stream of one of them will tell.
        if refused == streamFeatures { refused.removeFirst() }
        for feature in refused { if let refusal = stream.looked[feature] { refuse(feature, refusal) } }
        retryStreamNow(includingPaused: false)
    }

    private static func refusal(of answer: HTTPAnswer) -> ClientStream.Refusal? {
        switch answer.status {
        case 403: .denied
        case 404: .missing
        default: nil
        }
    }
}
