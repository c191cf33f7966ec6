import EventStream
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing
import WireJSON

@testable import Sessions

/// The same feature with stores of its own for each session, and what recordings have of its labels.
extension DirectedLabelTests {
    private func own(_ limits: SessionLimits = .patient) throws -> SessionTable {
        try SessionTable(
            environment: SessionEnvironment(
                features: FeatureRegistry([FeatureDefinition(Chores()), FeatureDefinition(Door())]), limits: limits,
                journal: MemoryJournal(), time: ManualTime().source, clock: ManualClock()))
    }

    private func open(
        _ session: Session, _ filter: StreamFilter = .all, as client: SessionClient = SessionClient()
    ) throws -> TestStream {
        let stream = Box<Result<SessionStream, StoreError>>()
        session.openStream(filter, from: .unspecified, for: client) { stream.set($0) }
        return TestStream(try #require(stream.value).get())
    }

    private func send(_ to: String, as client: SessionClient = SessionClient(), in session: Session) throws {
        let answer = Box<IntentResult>()
        session.send(
            IntentRequest(body: Array(#"{"type":"tell","text":"\#(to)","to":"\#(to)"}"#.utf8), client: client),
            to: try #require(FeatureID("chores"))
        ) { answer.set($0) }
        _ = try #require(answer.value).get()
    }

    @Test("in a session's own store the sender is the session, and others reach nobody")
    func ownStore() throws {
        let table = try own()
        let (session, _) = try table.made(.bearer)
        let streams = [try open(session), try open(session, .features([FeatureID("chores")!]))]
        for stream in streams { _ = try stream.read() }
        for to in ["sender", "session other", "subject ann", "session \(session.id)", "everyone"] {
            try send(to, in: session)
        }
        for stream in streams {
            #expect(try stream.read().said == ["sender", "session \(session.id)", "everyone"])
        }
        // A stream that comes later is owed nothing of what is for others, and begins where that does not matter.
        for stream in streams { stream.stream.closed() }
        try send("session other", in: session)
        let head = session.core.withLock { $0.head.number }
        let hello = try #require(try open(session).read().first)
        #expect(hello.text.contains(#""cursor":"\#(session.epoch).\#(head)""#))
        try send("sender", in: session)
        #expect(try open(session).read().said == ["sender"])
    }

    @Test("to a subject reach a session's own clients from its sign-in on")
    func ownSubject() async throws {
        let table = try own()
        let made = try await table.create(.bearer, for: Principal(issuer: "i", subject: "ann"), isShared: false)
            .get().0
        guard case .live(let session, let credential?) = try table.found(made.token) else {
            throw SessionTable.NotLive()
        }
        let client = SessionClient(credential)
        let stream = try open(session, as: client)
        _ = try stream.read()
        for to in ["subject ann", "subject bob"] { try send(to, as: client, in: session) }
        #expect(try stream.read().said == ["subject ann"])
    }

    @Test("recordings have their addressees, those without personal data only the kinds")
    func recorded() throws {
        var limits = SessionLimits.patient
        limits.recordings = RecordingLimit(turns: 20)
        limits.recordingDelay = .zero
        let table = try own(limits)
        let (session, _) = try table.made(.bearer)
        for to in ["everyone", "sender", "session canary", "subject canary"] { try send(to, in: session) }
        let export = Box<SessionExport?>()
        table.environment.journal.export(session.id) { export.set(try? $0.get()) }
        let kept = try #require(export.value ?? nil)
        func directed(_ export: SessionExport) throws -> [TurnFacts.Directed] {
            try export.turns.flatMap {
                try WireJSON.decode(TurnRecording<Chores>.self, from: $0.recording).facts.directed
            }
        }
        let found = try directed(kept)
        #expect(found.map(\.to) == ["sender", "session", "subject"] && found.allSatisfy { $0.label == 0 })
        #expect(found.map(\.name) == [nil, "canary", "canary (i)"])
        #expect(!String(decoding: kept.turns[1].recording, as: UTF8.self).contains("directed"))
        let redacted = kept.redacted(by: table.environment.features).export
        #expect(try directed(redacted).map(\.to) == found.map(\.to))
        #expect(try directed(redacted).allSatisfy { $0.name == nil })
    }
}
