import MVI

/// A list of the size that its key gives, as `rows:65536`: a screen with many rows.
struct Rows: Feature {
    struct Row: Codable, Equatable, Sendable {
        var id: Int
        var title: String
        var amount: Int
        var isDone = false
    }

    struct State: Codable, Equatable, Sendable {
        var title = "All rows"
        var rows: [Row] = []
        var done = 0
    }

    enum Intent: Codable, Equatable, Sendable {
        /// Checks or unchecks one row.
        case toggle(id: Int)
        /// Moves the first row to the end.
        case rotate
    }

    static let summary = "A list of rows, to measure the savings of patches."
    static let examples: [Intent] = [.toggle(id: 1), .rotate]

    let initialState: State

    /// Nil unless the key is a size from 1,000 bytes to 1 MiB.
    init?(key: String) {
        guard let bytes = Int(key), (1_000...1 << 20).contains(bytes) else { return nil }
        // The bytes of one row as JSON, with its comma.
        let size = 82
        initialState = State(
            rows: (1...max(1, bytes / size)).map { Row(id: $0, title: "The title of row \($0)", amount: $0 * 37) })
    }

    func reduce(_ state: inout State, _ intent: Intent) {
        switch intent {
        case .toggle(let id):
            guard let place = state.rows.firstIndex(where: { $0.id == id }) else { return }
            state.rows[place].isDone.toggle()
            state.done += state.rows[place].isDone ? 1 : -1
        case .rotate: state.rows.append(state.rows.removeFirst())
        }
    }
}
