import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import Testing

/// A feature whose messages contain an error, and so cannot be encoded.
private struct Loader: Feature {
    struct State: Codable, Equatable, Sendable { var text = "" }
    enum Intent: Codable, Sendable { case load }
    enum Message: Sendable { case failed(any Error) }
    static let examples: [Intent] = [.load]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        turn.dispatch(.failed(StoreError(.full, "no room")))
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .failed(let error): state.text = "\(error)"
        }
    }
}

@Suite("54: recording")
struct RecordingTests {
    let journal = MemoryJournal()
    let reports = Lock<[String]>([])

    /// Returns a table of the loader and the tally with a limit of recorded turns per session.
    private func table(recordedTurns: Int) throws -> SessionTable {
        var limits = SessionLimits.patient
        limits.recordedTurns = recordedTurns
        return try SessionTable(
            environment: SessionEnvironment(
                features: FeatureRegistry([FeatureDefinition(Loader()), FeatureDefinition(Tally())]), limits: limits,
                journal: journal, time: ManualTime().source, clock: ManualClock(),
                report: { [reports] report in
                    if case .unrecordable(let feature) = report { reports.withLock { $0.append(feature) } }
                }))
    }

    @Test("messages that cannot be encoded are reduced; the recording marks them missing, and that is reported once")
    func notCodable() throws {
        let table = try table(recordedTurns: 10)
        #expect(reports.withLock { $0 } == ["loader"])
        let (session, _) = try table.made(.bearer)
        let loader = try #require(FeatureID("loader"))
        for key in ["a", "b"] {
            let answer = Box<IntentResult>()
            session.send(IntentRequest(body: Array(#"{"type":"load"}"#.utf8), name: .key(key)), to: loader) {
                answer.set($0)
            }
            _ = try #require(answer.value).get()
        }
        #expect(String(decoding: try session.stateNow(of: loader).view, as: UTF8.self) == #"{"text":"no room"}"#)
        let exported = Box<SessionExport?>()
        journal.export(session.id) { exported.set(try? $0.get()) }
        let recordings = try #require(exported.value ?? nil).turns.map { String(decoding: $0.recording, as: UTF8.self) }
        #expect(
            recordings.suffix(2)
                == ["a", "b"].map {
                    #"{"intent":"\#($0)","fault":"the feature's messages or actions are not Codable"}"#
                })
        #expect(reports.withLock { $0 } == ["loader"])
    }

    @Test("without recording nothing has to be encoded, and nothing is reported")
    func off() throws {
        _ = try table(recordedTurns: 0)
        #expect(reports.withLock { $0 }.isEmpty)
    }
}
