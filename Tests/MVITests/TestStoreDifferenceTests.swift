import MVI
import MVITesting
import Testing

@Suite("The difference that a failed test shows", .timeLimit(.minutes(10)))
struct TestStoreDifferenceTests {
    /// The difference in the text of the failure of a test that expects another state than there is.
    private func difference(_ before: Shelf.State, expected: @escaping (inout Shelf.State) -> Void) async -> [String] {
        let texts = await failures {
            let store = TestStore(Shelf(), state: before)
            await store.send(.stock) { expected(&$0) }
            await store.finish()
        }
        return texts.flatMap { $0.split(separator: "\n").dropFirst().map(String.init) }
    }

    private let shelf = Shelf.State(books: (0..<100).map { Book(title: "Book \($0)", pages: [100, 200, 300]) })

    @Test func `53: an element of a long list is shown with its index, and equal ones are left out`() async {
        let lines = await difference(shelf) { $0.books[70].pages[1] = 999 }
        #expect(
            lines == [
                "    State(",
                "        books: [",
                "            …",
                #"  -         [70]: Book(title: "Book 70", pages: [100, 999, 300], note: nil),"#,
                #"  +         [70]: Book(title: "Book 70", pages: [100, 200, 300], note: nil),"#,
                "            …",
                "        ],",
                "        loans: [],",
                "        rooms: [:],",
                "    )",
            ])
    }

    @Test func `53: within an element of several lines only its members that differ are shown, to any depth`() async {
        let note = String(repeating: "a note ", count: 12)
        var shelf = shelf
        for index in shelf.books.indices {
            shelf.books[index].note = note
            shelf.books[index].pages = Array(1000..<1050)
        }
        let lines = await difference(shelf) {
            $0.books[3].pages[41] = 7
            $0.books[98].note = "another"
        }
        #expect(
            lines == [
                "    State(",
                "        books: [",
                "            …",
                "            [3]: Book(",
                #"                title: "Book 3","#,
                "                pages: [",
                "                    …",
                "  -                 [41]: 7,",
                "  +                 [41]: 1041,",
                "                    …",
                "                ],",
                "                note: \"\(note)\",",
                "            ),",
                "            …",
                "            [98]: Book(",
                #"                title: "Book 98","#,
                "                …",
                #"  -             note: "another","#,
                "  +             note: \"\(note)\",",
                "            ),",
                "            …",
                "        ],",
                "        loans: [],",
                "        rooms: [:],",
                "    )",
            ])
    }

    @Test func `53: elements that are inserted and removed are shown with the index that they have or had`() async {
        let lines = await difference(shelf) {
            $0.books.remove(at: 1)
            $0.books.insert(Book(title: "New", pages: []), at: 50)
        }
        #expect(
            lines == [
                "    State(",
                "        books: [",
                "            …",
                #"  +         [1]: Book(title: "Book 1", pages: [100, 200, 300], note: nil),"#,
                "            …",
                #"  -         [50]: Book(title: "New", pages: [], note: nil),"#,
                "            …",
                "        ],",
                "        loans: [],",
                "        rooms: [:],",
                "    )",
            ])
    }

    @Test func `53: elements with an id are compared with the one of their id, wherever that is`() async {
        let text = String(repeating: "word ", count: 20)
        let before = Shelf.State(loans: (1...9).map { Loan(id: $0, reader: "Ann", text: text) })
        let lines = await difference(before) {
            $0.loans.remove(at: 0)
            $0.loans[4].reader = "Bob"
        }
        #expect(
            lines == [
                "    State(",
                "        books: [],",
                "        loans: [",
                "  +         [0]: Loan(",
                "  +             id: 1,",
                #"  +             reader: "Ann","#,
                "  +             text: \"\(text)\",",
                "  +         ),",
                "            …",
                "            [4 → 5]: Loan(",
                "                id: 6,",
                #"  -             reader: "Bob","#,
                #"  +             reader: "Ann","#,
                "                text: \"\(text)\",",
                "            ),",
                "            …",
                "        ],",
                "        rooms: [:],",
                "    )",
            ])
    }

    @Test func `53: entries of a dictionary are compared with those of their key`() async {
        let before = Shelf.State(rooms: Dictionary(uniqueKeysWithValues: (10..<60).map { ("room \($0)", $0) }))
        let lines = await difference(before) {
            $0.rooms["room 17"] = 0
            $0.rooms["room 20"] = nil
            $0.rooms["room 5"] = 5
        }
        #expect(
            lines == [
                "    State(",
                "        books: [],",
                "        loans: [],",
                "        rooms: [",
                "            …",
                #"  -         "room 17": 0,"#,
                #"  +         "room 17": 17,"#,
                "            …",
                #"  +         "room 20": 20,"#,
                "            …",
                #"  -         "room 5": 5,"#,
                "            …",
                "        ],",
                "    )",
            ])
    }
}

private struct Book: Codable, Equatable, Sendable {
    var title: String
    var pages: [Int]
    var note: String?
}

private struct Loan: Codable, Equatable, Identifiable, Sendable {
    let id: Int
    var reader: String
    var text: String
}

/// Has lists and a dictionary; its turn changes nothing.
private struct Shelf: Feature {
    struct State: Codable, Equatable, Sendable {
        var books: [Book] = []
        var loans: [Loan] = []
        var rooms: [String: Int] = [:]
    }
    enum Intent: Codable, Sendable { case stock }
    static let examples: [Intent] = [.stock]
    let initialState = State()
    func reduce(_ state: inout State, _ intent: Intent) {}
}
