import Testing

@testable import MVIClient

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("Waiting intents that survive the app")
struct PendingStorageTests {
    /// An app that was killed while intents 1 to 3 waited and the first had no answer.
    private static func killed() throws -> KillPlay {
        var app = KillPlay()
        app.load()
        app.send(1)
        app.loadCredential()
        app.makeSession()
        app.send(2)
        app.send(3)
        app.lose(ran: true)
        app.write()
        #expect(app.kept == [1, 2, 3] && app.world.ran == [1])
        app.kill()
        return app
    }

    @Test func `are sent by the next run, first, in their order and with their keys`() throws {
        var app = try Self.killed()
        app.send(4)
        app.loadCredential()
        // Not before those that are still being read.
        #expect(app.inFlight == nil)
        app.loadIntents()
        #expect(app.waiting == [1, 2, 3, 4])
        for number in 1...4 {
            #expect(app.inFlight?.number == number && app.inFlight?.session == "s1")
            app.answer()
        }
        #expect(app.world.ran == [1, 2, 3, 4] && app.abandoned.isEmpty && app.world.receipts.count == 4)
        app.write()
        #expect(app.kept.isEmpty)
    }

    @Test func `that are off are kept nowhere`() throws {
        var play = try Play.live()
        play.send(1)
        #expect(!play.commands.contains { if case .saveIntents = $0 { true } else { false } })
    }

    @Test func `are dropped with their session`() throws {
        // The credential is another session's, or of none that the server knows, or gone.
        for token in ["token-2", "unknown", nil] {
            var app = try Self.killed()
            app.world.sessions["token-2"] = "s2"
            app.setToken(token)
            app.load()
            // Without a credential no session is made for them.
            #expect(app.requests.isEmpty == (token == nil))
            app.answer()
            app.makeSession()
            #expect(app.abandoned.keys.sorted() == [1, 2, 3], "\(token ?? "none")")
            for error in app.abandoned.values { #expect(error.code == .sessionEnded) }
            #expect(app.abandoned[1]?.mayHaveRun == true && app.abandoned[2]?.mayHaveRun == false)
            #expect(app.world.ran == [1])
            app.write()
            #expect(app.kept.isEmpty)
        }
    }

    @Test func `of a session that was lost before the kill are dropped with it`() throws {
        var app = KillPlay()
        app.load()
        app.send(1)
        app.loadCredential()
        app.makeSession()
        app.answer()
        app.world.sessions = [:]
        app.send(2)
        app.answer()
        app.write()
        #expect(app.kept == [2])
        // The next session was not made yet.
        app.kill()
        app.setToken(nil)
        app.load()
        app.makeSession()
        #expect(app.abandoned.keys.sorted() == [2] && app.world.ran == [1])
    }

    @Test func `are dropped if the stream has told another session before they were read`() throws {
        var app = try Self.killed()
        app.world.sessions["token-2"] = "s2"
        app.setToken("token-2")
        app.handle(.watch("counter"))
        app.loadCredential()
        try app.hello(session: "s2")
        app.loadIntents()
        #expect(app.abandoned.keys.sorted() == [1, 2, 3] && app.inFlight == nil)
    }

    @Test func `whose session is lost after they were taken over move to the next one of the same user`() throws {
        var app = try Self.killed()
        app.load()
        app.answer()
        app.world.sessions = [:]
        app.answer()
        app.makeSession()
        for _ in 2...3 { app.answer() }
        #expect(app.world.ran == [1, 2, 3] && app.abandoned.isEmpty)
    }

    @Test func `are dropped with a session that ends while they are read`() throws {
        var app = try Self.killed()
        app.handle(.watch("counter"))
        app.loadCredential()
        app.handle(.renewSession)
        app.send(4)
        app.loadIntents()
        #expect(app.abandoned.keys.sorted() == [1, 2, 3] && app.waiting == [4])
        // Also those of a session that was not made yet.
        app = KillPlay()
        app.load()
        app.send(1)
        app.loadCredential()
        app.write()
        app.kill()
        app.handle(.renewSession)
        app.send(2)
        app.loadIntents()
        #expect(app.abandoned.keys.sorted() == [1] && app.waiting == [2])
    }

    @Test func `are given up after their patience by the wall clock`() throws {
        var app = try Self.killed()
        app.kill(after: KillPlay.patience - .seconds(1))
        app.load()
        #expect(app.abandoned.isEmpty && app.waiting == [1, 2, 3])
        app.advance(by: .seconds(1))
        #expect(app.abandoned.keys.sorted() == [1, 2, 3])
        for error in app.abandoned.values { #expect(error.code == .gaveUp) }
        // A clock that was set back does not prolong it.
        app = try Self.killed()
        app.kill(after: .seconds(-86_400))
        app.load()
        app.advance(by: KillPlay.patience)
        #expect(app.abandoned.count == 3 && app.world.ran == [1])
    }

    @Test func `of a session that was not known yet belong to the credential's, or to the next one`() throws {
        // With a stored credential, and without.
        for (stored, next, isSent) in [
            ("token-0", "token-0", true), ("token-0", "token-9", false), (nil, "token-9", true), (nil, nil, true),
        ] as [(String?, String?, Bool)] {
            var app = KillPlay(token: stored)
            (app.world.sessions["token-0"], app.world.sessions["token-9"]) = ("s0", "s9")
            app.handle(.online(false))
            app.send(1)
            app.handle(.foreground)
            app.load()
            app.lose(ran: false)
            app.write()
            #expect(app.kept == [1])
            app.kill()
            app.setToken(next)
            app.load()
            app.makeSession()
            app.answer()
            #expect(app.world.ran == (isSent ? [1] : []) && app.abandoned.isEmpty == isSent)
        }
    }

    @Test func `are saved when the credential is known: the next start may have another user's`() throws {
        var app = KillPlay(token: "token-0")
        app.loadIntents()
        app.send(1)
        app.write()
        #expect(app.kept.isEmpty)
        app.loadCredential()
        app.write()
        #expect(app.kept == [1])
    }

    @Test func `are predicted before later ones`() throws {
        var book = PredictionPlay.Book { list, intent in list.ids.append(intent.id) }
        book.show(IDList(ids: []), version: 1, intent: nil)
        let isPredicted = book.add(IDIntent(id: "tap"), body: [], key: "tap")
        #expect(isPredicted)
        for key in ["first", "second"] { book.resume(IDIntent(id: key), body: [], key: key, isLost: false) }
        #expect(book.entries.map(\.key) == ["first", "second", "tap"])
    }

    @Test func `whose request was out may have run`() throws {
        var app = KillPlay()
        app.load()
        app.send(1)
        app.loadCredential()
        app.makeSession()
        app.send(2)
        app.write()
        let list = app.text.map { KeptIntent.list(in: $0) } ?? []
        #expect(list.map(\.mayHaveRun) == [true, false] && list.map(\.owner.session) == ["s1", "s1"])
    }

    @Test func `stay when the client is closed, and when the storage could not be read`() throws {
        var app = try Self.killed()
        app.load()
        app.write()
        app.handle(.close)
        #expect(app.unwritten.isEmpty && app.kept == [1, 2, 3])
        app = try Self.killed()
        app.handle(.restore(nil, wallTime: app.wallTime))
        app.send(4)
        app.loadCredential()
        #expect(app.inFlight?.number == 4 && app.unwritten.isEmpty && app.kept == [1, 2, 3])
    }

    @Test func `are saved once for a change`() throws {
        var app = try Self.killed()
        app.loadIntents()
        #expect(app.unwritten.isEmpty)
        app.loadCredential()
        let before = app.unwritten.count
        app.advance(by: .milliseconds(1))
        app.advance(by: .milliseconds(1))
        #expect(app.unwritten.count == before)
    }

    @Test(arguments: ["", "no JSON", "{}", "7", "[null]", #"[{"id":"k","feature":"counter"}]"#])
    func `of another text are none`(text: String) {
        #expect(KeptIntent.list(in: text).isEmpty)
    }

    @Test func `beyond the bound, or for what is no store, are refused`() throws {
        var app = try Self.killed()
        app.text = app.text?.replacing(#""feature":"counter","body":"2""#, with: #""feature":"../x","body":"2""#)
        app.load()
        #expect(app.abandoned[2]?.code == .invalidFeature && app.waiting == [1, 3])
    }

    // MARK: Random runs

    /// Kills an app again and again. Returns the numbers of kills and of intents.
    private func run(seed: UInt64) throws -> (kills: Int, intents: Int) {
        var (chance, app) = (Chance(seed: seed), KillPlay())
        var (sent, kills) = (0, 0)
        // The intents that a kill took before the storage had written them.
        var unkept: Set<Int> = []
        for _ in 0..<120 {
            switch chance.next() {
            case ..<0.25:
                sent += 1
                app.send(sent)
            case ..<0.35: if app.isLoading.intents { app.loadIntents() }
            case ..<0.45: if app.isLoading.credential { app.loadCredential() }
            case ..<0.5: app.makeSession()
            case ..<0.62: app.answer()
            case ..<0.66: app.lose(ran: chance.picks(0.5))
            case ..<0.68: app.refuse(503, "busy")
            case ..<0.7: app.refuse(429, "too-many-requests")
            case ..<0.72:
                if let number = app.inFlight?.number, !app.world.ran.contains(number) { app.refuse(422, "no") }
            case ..<0.8: app.advance(by: .milliseconds(chance.number(below: 3_000)))
            case ..<0.81: app.advance(by: .seconds(chance.number(below: 200)))
            case ..<0.82: app.handle(.watch("counter"))
            case ..<0.84: app.handle(.online(chance.picks(0.5)))
            case ..<0.9: app.write()
            case ..<0.91: app.world.sessions = [:]
            default:
                let written = chance.number(below: app.unwritten.count + 1)
                let waiting = app.isLoading.intents ? app.waiting + app.kept : app.waiting
                let isAllWritten = written == app.unwritten.count && !app.isLoading.intents && app.isCredentialRead
                app.kill(written: written, after: .seconds(chance.picks(0.1) ? 400 : chance.number(below: 20)))
                let missing = Set(waiting).subtracting(app.kept)
                if isAllWritten { try #require(missing.isEmpty, "\(missing) are not kept") }
                unkept.formUnion(missing)
                kills += 1
            }
        }
        app.handle(.online(true))
        for _ in 0..<600 {
            if app.isLoading.intents { app.loadIntents() }
            if app.isLoading.credential { app.loadCredential() }
            app.makeSession()
            app.answer()
            app.advance(by: .seconds(1))
            if app.waiting.isEmpty, !app.isLoading.intents { break }
        }
        let ran = app.world.ran
        let ordered = ran.filter { !app.failed.contains($0) }
        try #require(ordered == ordered.sorted(), "order: \(ran)")
        try #require(Set(ran).count == ran.count, "twice: \(ran)")
        try #require(app.waiting.isEmpty, "\(app.waiting)")
        for number in stride(from: 1, through: sent, by: 1) where !ran.contains(number) && !unkept.contains(number) {
            guard app.failed.contains(number) else {
                Issue.record("\(number) is lost")
                return (kills, sent)
            }
        }
        return (kills, sent)
    }

    @Test func `keep their order over many kills; none runs twice, and none is lost but what was given up`() throws {
        let count = ProcessInfo.processInfo.environment["MVI_KILL_SEEDS"].flatMap { UInt64($0) } ?? 300
        var (kills, intents) = (0, 0)
        for seed in 1...count {
            do {
                let run = try run(seed: seed)
                (kills, intents) = (kills + run.kills, intents + run.intents)
            } catch {
                Issue.record("seed \(seed): \(error)")
                return
            }
        }
        #expect(kills > intents / 4, "\(kills) kills, \(intents) intents")
        print("\(kills) kills, \(intents) intents")
    }
}
