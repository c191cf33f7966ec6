import MVI

/// Stores that tell each other texts: those of a space (`board:KEY`), and a session's own (`box`).
///
/// A text "no" is refused, at "throw" the action throws, and "on 3" is told on to the same store's board three times more.
struct Letters<Place: LetterPlace>: Feature {
    struct State: Codable, Equatable, Sendable {
        var got: [String] = []
        var failures = 0
    }
    enum Intent: Codable, Sendable {
        /// To `board KEY`, `session ID` or `subject ID`.
        case tell(texts: [String], to: String)
        /// Throws after it has told.
        case tellAndFail(to: String)
        case big(size: Int, to: String)
    }
    enum Action: Codable, Sendable { case get(text: String), lost(String) }
    enum Message: Codable, Sendable { case got(String), failed }
    enum Label: Codable, Equatable, Sendable { case got(text: String) }
    struct Torn: Error {}

    static var examples: [Intent] {
        [.tell(texts: ["a"], to: "board x"), .tellAndFail(to: "board x"), .big(size: 1, to: "board x")]
    }
    static var labelExamples: [Label] { [.got(text: "a")] }
    static var name: String { Place.name }
    static var schemaVersion: Int { Place.schemaVersion }
    static var summary: String { "Tells texts." }

    let initialState = State()

    static func undelivered(_ message: UndeliveredMessage) -> Action? {
        var text = ""
        if case .get(let told)? = message.action(of: Letters<BoardPlace>.self) { text = told }
        if case .get(let told)? = message.action(of: Letters<BoxPlace>.self) { text = told }
        if case .get(let told)? = message.action(of: Letters<UnservedPlace>.self) { text = told }
        return text == "unasked" ? nil : .lost("\(text) \(message.reason)")
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .tell(let texts, let to): for text in texts { Self.tell(text, to, &turn) }
        case .tellAndFail(let to):
            Self.tell("torn", to, &turn)
            throw Torn()
        case .big(let size, let to): Self.tell(String(repeating: "x", count: size), to, &turn)
        }
    }

    private static func tell(_ text: String, _ to: String, _ turn: inout Turn<Self>) {
        let words = to.split(separator: " ").map(String.init)
        switch words[0] {
        case "session": turn.tell(Letters<BoxPlace>.self, .get(text: text), in: .session(words[1]))
        case "subject":
            turn.tell(Letters<BoxPlace>.self, .get(text: text), in: .subject(Subject(issuer: "i", id: words[1])))
        case "elsewhere": turn.tell(Letters<UnservedPlace>.self, .get(text: text), key: words[1])
        default: turn.tell(Letters<BoardPlace>.self, .get(text: text), key: words[1])
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) throws {
        switch action {
        case .get("no"): throw Refusal(.conflict, code: "no", "It says no.")
        case .get("throw"): throw Torn()
        case .get(let text):
            turn.dispatch(.got(text))
            turn.publish(.got(text: text))
            if text.hasPrefix("on "), let left = Int(text.dropFirst(3)), left > 0 {
                Self.tell("on \(left - 1)", left.isMultiple(of: 2) ? "board even" : "board odd", &turn)
            }
        case .lost(let text): turn.dispatch(.got("lost \(text)"))
        }
    }

    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) { turn.dispatch(.failed) }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .got(let text): state.got.append(text)
        case .failed: state.failures += 1
        }
    }
}

protocol LetterPlace: Sendable {
    static var name: String { get }
    static var schemaVersion: Int { get }
}
extension LetterPlace { static var schemaVersion: Int { 1 } }
enum BoardPlace: LetterPlace { static let name = "board" }
/// The boards of a newer build.
enum NewerBoardPlace: LetterPlace {
    static let name = "board"
    static let schemaVersion = 2
}
enum BoxPlace: LetterPlace { static let name = "box" }
/// No server of the tests has it.
enum UnservedPlace: LetterPlace { static let name = "unserved" }
