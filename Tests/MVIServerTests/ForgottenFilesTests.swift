import Foundation
import Logging
import MVI
import SQLiteJournal
import SessionJournal
import Sessions
import Testing

@testable import MVIServer

/// A book in which everybody writes.
private struct Guestbook: Feature {
    struct Entry: Codable, Equatable, Sendable { let text: String, by: String }
    struct State: Codable, Equatable, Sendable { var entries: [Entry] = [] }
    enum Intent: Codable, Equatable, Sendable { case write(text: String) }
    enum Action: Codable, Sendable { case forget(Set<String>) }
    enum Message: Codable, Sendable { case wrote(Entry), removed(Set<String>) }
    static let examples: [Intent] = [.write(text: "hello")]
    let initialState = State()

    static func forgetting(_ person: ForgottenPerson) -> Action? { .forget(person.senders) }
    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        if case .write(let text) = intent { turn.dispatch(.wrote(Entry(text: text, by: turn.sender?.id ?? ""))) }
    }
    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        if case .forget(let senders) = action { turn.dispatch(.removed(senders)) }
    }
    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .wrote(let entry): state.entries.append(entry)
        case .removed(let senders): state.entries.removeAll { senders.contains($0.by) }
        }
    }
}

@Suite("The files of a journal after a person's deletion", .timeLimit(.minutes(5)))
struct ForgottenFilesTests {
    @Test("nothing of what the person sent to a shared store is left in them, and the others' entries are")
    func files() async throws {
        let folder = "\(NSTemporaryDirectory())mvi-forgotten-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func has(_ text: String) throws -> Bool {
            try FileManager.default.contentsOfDirectory(atPath: folder).contains { name in
                let bytes = try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
                return bytes.range(of: Data(text.utf8)) != nil
            }
        }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let journal = try await SQLiteJournal.open(directory: folder, logger: logger, commitWindow: .zero)
        var settings = ServerSettings()
        (settings.port, settings.recordedTurns) = (0, 100)
        let server = try TestServer(
            on: journal, Shared { _ in Guestbook() }.allows(.everyone), settings, authenticator: WordAuthenticator())
        let (anna, bob) = (try await server.session(of: "anna"), try await server.session(of: "bob"))
        for (session, text) in [(anna, "canary of anna"), (bob, "word of bob"), (anna, "canary of hers")] {
            let body = #"{"type":"write","text":"\#(text)"}"#
            let key = text.replacing(" ", with: "-")
            let answer = try await server.send(session.intent(body, [("Idempotency-Key", key)], to: "guestbook:a"))
            #expect(answer.status == 202, "\(answer.text)")
        }
        await server.sessions.writeRecordings()
        #expect(try has("canary"))
        let data = try await server.sessions.forget(Subject(issuer: WordAuthenticator.issuer, id: "anna"))
        #expect(data.spaces == 1)
        #expect(try !has("canary") && has("word of bob"))
        server.sessions.drain()
        await journal.close()
        #expect(try !has("canary") && has("word of bob"))
    }
}
