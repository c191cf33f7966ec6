/// Measurements of streams: delays of events and duration.
extension Examination {
    /// The encodings that browsers offer.
    private static let encodings = (name: "Accept-Encoding", value: "gzip, deflate, br, zstd")
    private static let decodable = (name: "Accept-Encoding", value: "gzip, deflate")
    private static let none = (name: "Accept-Encoding", value: "identity")

    func measureStreams(_ session: SessionKeeper.Session, _ feature: String?) async {
        let stream = link.open("/events", [session.field, Self.none])
        let isLive = await stream.first(within: options.patience) { $0.events.first } != nil
        if isLive, let feature { await measureChanges(stream, session, feature) }
        let plain = await finish(stream, session)
        note { $0.plainStream = plain }

        guard let head = await sample(link, Self.encodings) else { return }
        note { $0.encodedHead = head }
        guard let encoding = head.encoding, ["gzip", "x-gzip", "deflate"].contains(encoding) else { return }
        let decoded = await self.sample(decoding, Self.decodable)
        note { $0.decodedStream = decoded }
    }

    /// Opens a stream of a new session and waits for its first event.
    private func sample(_ link: ServerLink, _ encoding: (name: String, value: String)) async -> StreamSample? {
        guard let session = await sessions.make().session else { return nil }
        let stream = link.open("/events", [session.field, encoding])
        let decodes = encoding.value == Self.decodable.value
        _ = await stream.first(within: options.patience) { record -> Bool? in
            if decodes || record.head?["content-encoding"] == nil { return record.events.isEmpty ? nil : true }
            return true
        }
        return await finish(stream, session)
    }

    /// Returns the first events of a stream. If no event has come, its session is ended to see whether one comes then.
    private func finish(_ stream: OpenStream, _ session: SessionKeeper.Session) async -> StreamSample {
        var sample = StreamSample()
        sample.patience = options.patience
        let before = stream.record
        sample.firstEvent = before.events.first?.arrival
        sample.head = before.head
        if before.events.isEmpty, before.head?.status ?? 200 == 200, !before.hasEnded {
            await sessions.end(session)
            sample.cameAtItsEnd = await stream.first(within: options.patience) { $0.events.first } != nil
            sample.head = stream.record.head
        }
        sample.failure = stream.record.failure
        await retire([stream], [session])
        return sample
    }

    /// Ends sessions and their streams. A proxy may treat resets of many streams as an attack.
    private func retire(_ streams: [OpenStream], _ ended: [SessionKeeper.Session]) async {
        for session in ended { await sessions.end(session) }
        for stream in streams {
            _ = await stream.first(within: .seconds(1)) { $0.hasEnded ? true : nil }
            await stream.close()
        }
    }

    /// Makes a store and disposes it, a few times: the stream shows both.
    private func measureChanges(
        _ stream: OpenStream, _ session: SessionKeeper.Session, _ feature: String
    ) async {
        for _ in 0..<3 {
            for (method, event) in [("GET", "state"), ("DELETE", "end")] {
                let before = stream.record.events.count
                let status = await link.send(method, "/features/\(feature)/state", [session.field]).status
                guard let status, 200...299 ~= status else { return }
                let answered = stream.age
                let arrival = await stream.first(within: options.patience) { record in
                    record.events.dropFirst(before).first { $0.name == event && $0.feature == feature }?.arrival
                }
                guard let arrival else { return note { $0.missingEvents += 1 } }
                note { $0.eventDelays.append(max(.zero, arrival - answered)) }
            }
        }
    }

    /// Watches a stream without changes, with an unknown cursor.
    func watchQuietStream() async {
        guard let session = await sessions.make().session else { return }
        let stream = link.open("/events", [session.field, Self.none, ("Last-Event-ID", "mvi-doctor")])
        let hello = await stream.first(within: options.patience) { record in
            record.events.first { $0.name == "hello" }.flatMap { Wire.read(HelloEvent.self, $0.data) }
        }
        guard let hello, 1...3_600 ~= hello.heartbeat else { return await retire([stream], [session]) }
        let due = Duration.seconds(hello.heartbeat)
        let watch = options.watch ?? min(due * 2.3, .seconds(60))
        let end = await stream.first(within: max(.zero, watch - stream.age)) { $0.hasEnded ? $0 : nil }
        let sample = sample(stream, hello.heartbeat, end)
        let reset = stream.record.events.contains { $0.name == "reset" }
        note { measured in
            measured.quietStream = sample
            measured.lastEventIDArrived = reset
        }
        await retire([stream], [session])
    }

    private func sample(_ stream: OpenStream, _ heartbeat: Int, _ end: OpenStream.Record?) -> QuietSample {
        let record = end ?? stream.record
        var sample = QuietSample()
        sample.heartbeat = heartbeat
        sample.watched = record.length ?? stream.age
        sample.longestSilence = max(record.longestSilence, sample.watched - record.lastByte)
        for event in record.events where event.name == "ping" {
            guard let ping = Wire.read(PingEvent.self, event.data) else { continue }
            sample.pings.append((event.arrival, .milliseconds(ping.t)))
        }
        guard end != nil else { return sample }
        let farewell = record.events.last { $0.name == "goaway" }.flatMap { Wire.read(GoAwayEvent.self, $0.data) }
        sample.end = farewell.map { .said($0.reason) } ?? .cut(record.failure ?? "it ended cleanly")
        return sample
    }

    /// Opens more streams than a browser has connections.
    func measureTogether() async {
        // A session with an identity is stored at once, so fewer are made. A session has at most four streams.
        let (count, each) = options.identity == nil ? (4, 2) : (2, 4)
        var made: [SessionKeeper.Session] = []
        for _ in 0..<count {
            guard let session = await sessions.make().session else { break }
            made.append(session)
        }
        guard !made.isEmpty else { return }
        let streams = made.flatMap { session in
            (0..<each).map { _ in link.open("/events", [session.field, Self.none]) }
        }
        let patience = options.patience
        let live = await withTaskGroup(of: Bool.self) { group in
            for stream in streams {
                group.addTask { await stream.first(within: patience) { $0.events.first } != nil }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        let intent = await sendNoIntent(made[0], "mvi-doctor")
        let http = streams.compactMap { $0.record.head?.http }.first ?? read { $0.http }
        note { $0.together = TogetherSample(wanted: streams.count, live: live, intent: intent, http: http) }
        await retire(streams, made)
    }
}
