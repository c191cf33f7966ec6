import SessionJournal
import Testing

@testable import PostgresJournal

@Suite struct NewsMessageTests {
    private func token() -> TokenHash { TokenHash((0..<32).map { _ in .random(in: 0...255) }) }

    @Test(arguments: 0...40) func `bytes are the same after their way through a text`(count: Int) throws {
        let bytes = (0..<count).map { _ in UInt8.random(in: 0...255) }
        let text = Base64.text(bytes)
        #expect(text.utf8.count == (count * 4 + 2) / 3)
        #expect(try #require(Base64.bytes(text)) == bytes)
    }

    @Test(arguments: ["A", "AAAAA", "AA=", "A+", "ä", "\u{0}"])
    func `a text that is no Base64 is no bytes and no news`(text: String) {
        #expect(Base64.bytes(text) == nil)
        #expect(NewsMessage(text: text).news(to: 1) == nil)
    }

    @Test func `news of any number of sessions are whole and in messages that are short enough`() throws {
        var news = OutgoingNews()
        var (heads, changed, tokens): ([SessionKey: SessionHead], Set<SessionKey>, Set<TokenHash>) = ([:], [], [])
        for index in 0..<2_000 {
            let key = SessionKey(index.isMultiple(of: 2) ? Int64(index) : .random(in: 1 ... .max))
            heads[key] = SessionHead(number: .random(in: .min ... .max), nonce: .random(in: .min ... .max))
            changed.insert(key)
            tokens.insert(token())
        }
        for (key, head) in heads { news.append(key, head) }
        for key in changed { news.change(key) }
        for token in tokens { news.know(token) }
        for key in changed.prefix(2) { news.contend(key) }
        news.changeNodes()
        let messages = news.messages(from: 7)
        var (heardHeads, heardChanged, heardTokens): ([SessionKey: SessionHead], Set<SessionKey>, Set<TokenHash>) =
            ([:], [], [])
        var contended: Set<SessionKey> = []
        var nodes = 0
        for message in messages {
            #expect(message.text.utf8.count < 8_000)
            #expect(message.news(to: 7) == nil, "its sender hears it")
            switch try #require(message.news(to: 8)) {
            case .appended(let heads): heardHeads.merge(heads) { $1 }
            case .changed(let sessions): heardChanged.formUnion(sessions)
            case .known(let tokens): heardTokens.formUnion(tokens)
            case .contended(let session): contended.insert(session)
            case .nodes: nodes += 1
            case .interrupted: Issue.record("an interruption was told")
            }
        }
        #expect(heardHeads == heads && heardChanged == changed && heardTokens == tokens && nodes == 1)
        #expect(contended == Set(changed.prefix(2)))
        // A group's heads, of a journal with some millions of sessions, are one message.
        var group = OutgoingNews()
        for index in 0..<256 { group.append(SessionKey(1_000_000 + Int64(index)), SessionHead(number: 900, nonce: 1)) }
        #expect(group.messages(from: 7).count == 1)
        #expect(OutgoingNews().messages(from: 7).isEmpty)
    }

    @Test func `a message that is cut off or of an unknown kind is no news`() throws {
        var news = OutgoingNews()
        news.append(SessionKey(300), SessionHead(number: 300, nonce: 1))
        let message = try #require(news.messages(from: 7).first)
        let bytes = try #require(Base64.bytes(message.text))
        for count in 0..<bytes.count where count != 9 {
            #expect(NewsMessage(text: Base64.text(Array(bytes.prefix(count)))).news(to: 8) == nil)
        }
        #expect(NewsMessage(text: Base64.text([99] + bytes.dropFirst())).news(to: 8) == nil)
    }

    @Test(arguments: ["mvi", String(repeating: "s", count: 59), String(repeating: "s", count: 63)])
    func `the channel's name is short enough, and the same in every process`(schema: String) {
        let channels = NewsChannels(schema: schema)
        #expect(channels.news.utf8.count <= 63 && channels.heartbeat.utf8.count <= 63)
        #expect(channels.news == NewsChannels(schema: schema).news)
        #expect(channels.news != NewsChannels(schema: schema + "x").news)
        #expect(channels.heartbeat != NewsChannels(schema: schema).heartbeat)
    }
}
