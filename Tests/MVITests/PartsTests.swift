import MVI
import MVITesting
import Testing
import WireJSON

@Suite struct PartsTests {
    struct Row: Part, Identifiable {
        struct View: Codable, Equatable, Sendable { var title: String }
        enum Message: Equatable, Sendable { case renamed(String) }

        var id: Int
        var text: String
        var view: View { View(title: "\(id) \(text)") }

        mutating func reduce(_ message: Message) {
            switch message {
            case .renamed(let text): self.text = text
            }
        }
    }

    private func list(_ texts: (Int, String)...) -> Row.List {
        Row.List(texts.map { Row(id: $0, text: $1) })
    }

    @Test("a list keeps the order, and a part whose id is there takes the place of the one that has it")
    func order() {
        var rows = list((2, "b"), (1, "a"), (2, "c"))
        #expect(rows.map(\.text) == ["c", "a"])
        #expect(rows.ids == [2, 1])
        rows.append(Row(id: 3, text: "d"))
        rows.insert(Row(id: 4, text: "e"), at: 1)
        #expect(rows.ids == [2, 4, 1, 3])
        rows.insert(Row(id: 3, text: "new"), at: 0)
        #expect(rows.ids == [2, 4, 1, 3] && rows[id: 3]?.text == "new")
        rows.insert(Row(id: 5, text: ""), at: 99)
        rows.insert(Row(id: 6, text: ""), at: -1)
        #expect(rows.ids == [6, 2, 4, 1, 3, 5])
        rows.move(id: 6, to: 3)
        #expect(rows.ids == [2, 4, 1, 6, 3, 5])
        rows.move(id: 7, to: 0)
        #expect(rows.count == 6)
        let removed = [4, 4].map { rows.remove(id: $0)?.text }
        #expect(removed == ["e", nil])
        #expect(rows.ids == [2, 1, 6, 3, 5])
    }

    @Test("a part is read, set and removed by its id")
    func byID() {
        var rows: Row.List = [Row(id: 1, text: "a")]
        #expect(rows[id: 1]?.text == "a")
        #expect(rows[id: 2] == nil)
        rows[id: 1]?.text = "b"
        rows[id: 2] = Row(id: 2, text: "c")
        #expect(rows.map(\.text) == ["b", "c"])
        rows[id: 1] = nil
        rows[id: 9] = nil
        #expect(rows.ids == [2])
    }

    @Test("76: a message reaches the part of its id, and one whose part is gone does nothing")
    func reduce() {
        var rows = list((1, "a"), (2, "b"))
        let isThere = [2, 3].map { rows.reduce($0, .renamed("c")) }
        #expect(isThere == [true, false])
        #expect(rows == list((1, "a"), (2, "c")))
        #expect(rows.view == [Row.View(title: "1 a"), Row.View(title: "2 c")])
    }

    @Test("a list is stored as an array; one with an id that is there twice is refused")
    func coding() throws {
        let rows = list((2, "b"), (1, "a"))
        let text = #"[{"id":2,"text":"b"},{"id":1,"text":"a"}]"#
        #expect(String(decoding: try WireJSON.encode(rows), as: UTF8.self) == text)
        #expect(try WireJSON.decode(Row.List.self, from: Array(text.utf8)) == rows)
        let twice = #"[{"id":1,"text":"b"},{"id":1,"text":"a"}]"#
        let error = #expect(throws: WireDecodingError.self) {
            try WireJSON.decode(Row.List.self, from: Array(twice.utf8))
        }
        #expect("\(try #require(error))".contains("two parts have the same id"))
    }

    @Test("a part without a view of its own shows all of itself")
    func view() {
        struct Switch: Part {
            var isOn = false
            mutating func reduce(_ message: Bool) { isOn = message }
        }
        var part = Switch()
        part.reduce(true)
        #expect(part.view == Switch(isOn: true))
    }
}
