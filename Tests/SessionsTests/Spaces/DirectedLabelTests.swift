import EventStream
import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("Labels to some of a store's clients", .timeLimit(.minutes(5)))
struct DirectedLabelTests {
    private let door = "door:inn"

    /// An intent whose label has a text that no other has.
    private func tell(_ to: String, _ text: String = "canary") -> String {
        #"{"type":"tell","text":"\#(text)","to":"\#(to)"}"#
    }
    private func call(_ text: String) -> String { #"{"type":"call","text":"\#(text)"}"# }

    private func texts(_ reader: BundleReader) throws -> [String] {
        try reader.parsed().filter { $0.name == "label" }.map { event in
            event.text.split(separator: #""text":""#).last?.split(separator: "\"").first.map(String.init) ?? ""
        }
    }

    private func has(_ canary: String, _ reader: BundleReader) -> Bool {
        String(decoding: reader.bytes, as: UTF8.self).contains(canary)
    }

    @Test("reach streams of those who are meant, in order with other labels, and no other stream")
    func reached() async throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        let (hal, other) = (try await fixture.user("hal", ["role": "host"]), try await fixture.user("hal"))
        let space = try fixture.space(door)
        let sender = space.sender(ann.session, nil, nil).id
        // To whom, by whom, and whether ann, bob, hal and hal's other session get it.
        let cases: [(String, SpaceClient, [Bool])] = [
            ("everyone", bob, [true, true, true, true]), ("sender", ann, [true, false, false, false]),
            ("sender", hal, [false, false, true, false]),
            ("session \(bob.session.id)", ann, [false, true, false, false]),
            ("subject hal", ann, [false, false, true, true]), ("subject nobody", hal, [false, false, false, false]),
            ("host", ann, [false, false, true, false]), (sender, bob, [true, false, false, false]),
            ("session none", ann, [false, false, false, false]),
        ]
        let clients = [ann, bob, hal, other]
        for delta in [nil, DeltaForm.jsonPatch] {
            let readers = try clients.map { try $0.stream(door, delta: delta) }
            for reader in readers { _ = try reader.events() }
            for (index, (to, by, _)) in cases.enumerated() {
                _ = try by.send(tell(to, "canary-\(index)"), to: door).get()
                _ = try by.send(call("after-\(index)"), to: door).get()
                // Readers that keep up, and others that are behind.
                if index < 4 { for reader in readers { _ = try reader.events() } }
            }
            for (place, reader) in readers.enumerated() {
                _ = try reader.events()
                let all = String(decoding: reader.bytes, as: UTF8.self)
                let shown = all.split(separator: #""text":""#).dropFirst().compactMap {
                    $0.split(separator: "\"").first
                }
                let expected = cases.indices.flatMap { index in
                    (cases[index].2[place] ? ["canary-\(index)"] : []) + ["after-\(index)"]
                }
                #expect(shown.map(String.init) == expected, "\(place)")
                #expect(!all.contains("reset"))
            }
        }
    }

    @Test("are in no step that streams share, whoever reads first")
    func shared() throws {
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let fixture = try SpaceFixture()
            let clients = try (0..<3).map { _ in try fixture.guest() }
            let readers = try clients.map { try $0.stream("party") }
            for reader in readers { _ = try reader.events() }
            _ = try clients[0].send(call("one")).get()
            _ = try clients[0].send(tell("session \(clients[1].session.id)")).get()
            _ = try clients[0].send(#"{"type":"add","text":"milk"}"#).get()
            let shown = try order.map { try readers[$0].parsed() }
            for (place, events) in zip(order, shown) {
                #expect(events.map(\.name) == (place == 1 ? ["state", "label", "label"] : ["state", "label"]))
                #expect(has("canary", readers[place]) == (place == 1))
            }
            // The others share theirs.
            let space = try fixture.space("party")
            let step = try #require(space.core.withLock { $0.streams.lastStep })
            #expect(step.labels.count == 1)
        }
    }

    @Test("reach who resumes while they are kept, and nobody by a cursor, earliest, a reset or another part")
    func resumed() throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        let starts = try [ann, bob].map { client -> String in
            let reader = try client.stream("party", "picnic", own: ["tally"])
            _ = try reader.events()
            return reader.lastID
        }
        for list in ["party", "picnic"] { _ = try ann.send(tell("sender"), to: list).get() }
        let mine = try ann.stream("party", "picnic", own: ["tally"], from: .cursor(starts[0]))
        #expect(try texts(mine) == ["canary", "canary"])
        let positions: [StreamStart] = [.cursor(starts[1]), .earliest, .unspecified, .cursor(mine.lastID), .now]
        for start in positions {
            let reader = try bob.stream("party", "picnic", own: ["tally"], from: start)
            let events = try reader.events()
            #expect(!has("canary", reader), "\(start)")
            #expect(!events.contains { $0.hasPrefix("label") })
        }
        // Somebody else's cursor makes nobody the addressee.
        let part = starts[0].split(separator: "~")[1]
        let stolen = try bob.stream("party", from: .cursor("\(bob.session.epoch).0~\(part)"))
        _ = try stolen.events()
        #expect(!has("canary", stolen))
        #expect(try texts(ann.stream("party", from: .earliest)) == ["canary"])
        #expect(try texts(ann.stream("party")).isEmpty)
        // Beyond its life nobody gets it, which is no loss.
        fixture.time.advance(by: .seconds(301))
        let late = try ann.stream("party", "picnic", own: ["tally"], from: .cursor(starts[0]))
        #expect(try !late.events().contains { $0.hasPrefix("label") || $0.hasPrefix("reset") })
    }

    @Test("are judged by who the client is when they are written")
    func changed() async throws {
        let fixture = try SpaceFixture()
        let hal = try await fixture.user("hal", ["role": "host"])
        let (host, again) = (try hal.stream(door), try hal.stream(door))
        for reader in [host, again] { _ = try reader.events() }
        func become(_ role: ClaimValue) async throws {
            let principal = Principal(issuer: "i", subject: "hal", claims: ["role": role])
            _ = try await fixture.table.identify(hal.session, hal.token, hal.credential, as: principal, proof: []).get()
        }
        _ = try hal.send(tell("host", "first-canary"), to: door).get()
        #expect(try texts(host) == ["first-canary"])
        try await become("guest")
        // This stream had not written it, and shows a guest nothing of it.
        #expect(try texts(again).isEmpty && !has("canary", again))
        _ = try hal.send(tell("host", "second-canary"), to: door).get()
        _ = try hal.send(call("tea"), to: door).get()
        for reader in [host, again] { #expect(try texts(reader) == ["tea"]) }
        _ = try hal.send(tell("host", "third-canary"), to: door).get()
        try await become("host")
        for reader in [host, again] { #expect(try texts(reader) == ["third-canary"]) }
    }

    @Test("do not reach a client of whom it is not known now whether it is meant")
    func inDoubt() async throws {
        let fixture = try SpaceFixture()
        let hal = try await fixture.user("hal", ["role": "host"])
        let reader = try hal.stream(door)
        _ = try reader.events()
        // Until the journal has the renewal, both principals count.
        let guest = Principal(issuer: "i", subject: "hal", claims: ["role": "guest"])
        _ = try #require(hal.credential).restrict(to: guest, since: 0)
        hal.session.core.withLock { hal.session.noteAccessChange(&$0) }.finish()
        let other = try await fixture.user("una", ["role": "host"])
        _ = try other.send(tell("host"), to: door).get()
        _ = try other.send(call("tea"), to: door).get()
        // The view waits, and so do labels of its turn and later ones.
        #expect(try texts(reader).isEmpty && !has("canary", reader))
    }

    @Test("do not reach the person who signs in to a client's session without its stores, or who signed out")
    func signedIn() async throws {
        let fixture = try SpaceFixture()
        let guest = try fixture.guest()
        let old = try guest.stream("party")
        _ = try old.events()
        let cursor = old.lastID
        _ = try guest.send(tell("sender")).get()
        let signed = try await fixture.table.identify(
            guest.session, guest.token, nil, as: Principal(issuer: "i", subject: "ann"), proof: ProofHash.of("a proof"),
            keepsStores: false
        ).get()
        guard case .signedIn(let session, let credential, let token) = signed else { throw SessionTable.NotLive() }
        let ann = SpaceClient(fixture: fixture, session: session, token: token, credential: credential)
        for start in [StreamStart.cursor(cursor), .earliest] {
            let reader = try ann.stream("party", from: start)
            _ = try reader.events()
            #expect(!has("canary", reader))
        }
        _ = try old.events()
        #expect(old.isOver && !has("canary", old))
        // The new person is a subject, and its own sender.
        let reader = try ann.stream("party")
        _ = try reader.events()
        _ = try ann.send(tell("subject ann", "mine")).get()
        _ = try ann.send(tell("sender", "also mine")).get()
        #expect(try texts(reader) == ["mine", "also mine"])
        _ = try ann.send(tell("sender", "late-canary")).get()
        ann.session.end(.ended)
        _ = try reader.events()
        #expect(reader.isOver && !has("late-canary", reader))
    }

    @Test("reach all devices of a user who shares one session, and a sign-out of one ends that")
    func devices() async throws {
        let fixture = try SpaceFixture()
        func device() async throws -> SpaceClient {
            let principal = Principal(issuer: "i", subject: "ann")
            let made = try await fixture.table.create(.bearer, for: principal, isShared: true).get().0
            guard case .live(let session, let credential?) = try fixture.table.found(made.token) else {
                throw SessionTable.NotLive()
            }
            return SpaceClient(fixture: fixture, session: session, token: made.token, credential: credential)
        }
        let (phone, laptop) = (try await device(), try await device())
        #expect(phone.session === laptop.session)
        let readers = try [phone, laptop, try fixture.guest()].map { try $0.stream("party") }
        for reader in readers { _ = try reader.events() }
        for to in ["sender", "session \(phone.session.id)", "subject ann"] { _ = try phone.send(tell(to)).get() }
        #expect(try readers.map { try texts($0).count } == [3, 3, 0])
        _ = try laptop.send(tell("sender", "late-canary")).get()
        fixture.table.end(phone.session, phone.own, everywhere: false) { _ in }
        for reader in readers { _ = try reader.events() }
        #expect(readers.map { has("late-canary", $0) } == [false, true, false])
    }

    @Test("cross nodes, take-overs and restarts with their addressees")
    func nodes() throws {
        let pair = try SpacePair()
        let (ann, bob) = (try pair.here.guest(), try pair.there.guest())
        _ = try ann.send(call("tea")).get()
        let there = try pair.moved(ann, to: pair.there)
        let readers = [try there.stream("party"), try bob.stream("party"), try ann.stream("party")]
        for reader in readers { _ = try reader.events() }
        let cursor = readers[0].lastID
        _ = try ann.send(tell("sender")).get()
        _ = try ann.send(tell("session \(bob.session.id)", "for bob")).get()
        pair.pass(1)
        #expect(try readers.map(texts) == [["canary"], ["for bob"], ["canary"]])
        // A node that loads the log knows as much.
        let later = try SpaceFixture(journal: pair.kept)
        for (client, expected) in [(ann, ["canary"]), (bob, [])] {
            guard case .live(let session, let credential) = try later.table.found(client.token) else {
                throw SessionTable.NotLive()
            }
            let back = SpaceClient(fixture: later, session: session, token: client.token, credential: credential)
            let start: StreamStart = client.token == ann.token ? .cursor(cursor) : .now
            #expect(try texts(back.stream("party", from: start)) == expected)
            let earliest = try back.stream("party", from: .earliest)
            _ = try earliest.events()
            #expect(has("canary", earliest) == (client.token == ann.token))
        }
    }

    @Test("are shown to nobody by a build that does not know them")
    func olderBuild() throws {
        let kept = MemoryJournal()
        let before = try SpaceFixture(journal: kept)
        let ann = try before.guest()
        for body in [call("tea"), tell("sender")] { _ = try ann.send(body).get() }
        let space = try before.space("party")
        let labels = space.core.withLock { $0.outbox.entries.map(\.label) }
        #expect(labels.map(\.packed)[0] == labels[0] && labels[1].packed.to == nil)
        #expect(try labels.map { try $0.packed.unpacked } == labels)
        // What a node of an older build reads from a row.
        let older = try SpaceFixture()
        let bob = try older.guest()
        let readers = [try bob.stream("party"), try bob.stream("party", own: ["tally"])]
        for reader in readers { _ = try reader.events() }
        for session in [try older.space("party"), bob.session] {
            session.changeStreams { core in
                var applied = SessionCore.Applied()
                core.publish(
                    labels.map(\.packed), now: Moment(session.shared.time), limits: session.shared.limits, &applied)
            }
        }
        for reader in readers {
            _ = try reader.events()
            #expect(!has("canary", reader))
        }
        let all = try bob.session.opened(.all, from: .earliest).read()
        #expect(!all.contains { $0.text.contains("canary") })
    }

    @Test("that leave a full outbox are a loss for open streams of those who were meant, and for nobody else")
    func dropped() throws {
        let fixture = try SpaceFixture(change: { ($0.outboxLabels, $0.spaceOutboxLabels) = (2, 2) })
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        let readers = try [ann, bob].map { try $0.stream("party") }
        for reader in readers { _ = try reader.events() }
        let cursor = readers[1].lastID
        for number in 1...4 { _ = try ann.send(tell("sender", "\(number)")).get() }
        #expect(try readers[1].events().isEmpty)
        let events = try readers[0].events()
        #expect(events.map(\.kind.first) == ["r", "l", "l"] && events[0].contains(#""labelsLost":true"#))
        let resumed = try bob.stream("party", from: .cursor(cursor)).events()
        #expect(resumed.map(\.kind) == ["hello", "state chores:party"])
        #expect(try !bob.stream("party", from: .cursor("x~")).events().contains { $0.contains(#""labelsLost":true"#) })
    }

    @Test("to a sender fail the turn that has none")
    func noSender() async throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        let reader = try ann.stream("party")
        _ = try reader.events()
        let space = try fixture.space("party")
        let party = try #require(FeatureID("chores:party"))
        func deliver(_ to: String) throws -> Result<IntentOutcome, StoreError> {
            let answer = Box<Result<IntentOutcome, StoreError>>()
            space.deliver(
                .action(.tell(text: "canary", to: to), of: Chores.self), to: party, once: nil,
                makesStore: false
            ) { answer.set($0) }
            return try #require(answer.value)
        }
        let refused = try deliver("sender")
        guard case .failure(let error) = refused else { throw SessionTable.NotLive() }
        #expect(error.code == .failed && error.detail.contains("no sender"))
        #expect(try reader.events().isEmpty)
        _ = try deliver("session \(ann.session.id)").get()
        #expect(try texts(reader) == ["canary"])
    }

    @Test("go with the person to whom they are directed")
    func forgotten() async throws {
        let journal = MemoryJournal()
        let fixture = try SpaceFixture(journal: journal)
        let (ann, bob) = (try await fixture.user("ann"), try await fixture.user("bob"))
        _ = try ann.send(#"{"type":"add","text":"milk"}"#).get()
        for to in ["sender", "session \(ann.session.id)", "subject ann", "everyone", "subject bob"] {
            _ = try ann.send(tell(to)).get()
        }
        _ = try bob.send(tell("sender")).get()
        _ = try await fixture.table.forget(Subject(issuer: "i", id: "ann"))
        let space = try fixture.space("party")
        let left = space.core.withLock { $0.outbox.entries.map(\.label.to) }
        let sender = space.sender(bob.session, nil, bob.credential).id
        let expected: [LabelAddressee?] = [nil, .subject(Subject(issuer: "i", id: "bob")), .sender(sender)]
        #expect(left == expected)
        #expect(try await journal.stored("party").labels.map(\.to) == expected)
    }
}
