import MVI

/// A product in a cart. A change is shown at once, and reverted if the owner's account rejects it.
struct Line: Part, Identifiable {
    /// Saves a line in an account.
    typealias Save = @Sendable (Line) async throws -> Void
    enum Message: Codable, Equatable, Sendable { case changed(count: Int), saveStarted, saved(count: Int), saveFailed }

    let id: String
    let name: String
    /// The price of one item, in cents.
    let price: Int
    var count = 0
    /// The count in the account.
    var savedCount = 0
    var isSaving = false
    var hasFailed = false

    init(_ product: Product) { (id, name, price) = (product.id, product.name, product.price) }

    mutating func reduce(_ message: Message) {
        switch message {
        case .changed(let count): (self.count, hasFailed) = (count, false)
        case .saveStarted: isSaving = true
        case .saved(let count): (savedCount, isSaving) = (count, false)
        case .saveFailed: (count, isSaving, hasFailed) = (savedCount, false, true)
        }
    }
}

extension PartTurn where P == Line {
    mutating func change(to count: Int, _ save: Line.Save?) {
        dispatch(.changed(count: count))
        self.save(save)
    }

    /// Does nothing without an account.
    mutating func save(_ save: Line.Save?) {
        guard let save else { return }
        dispatch(.saveStarted)
        launch(id: "save", policy: .cancelPrevious) { [line = state] work in
            do {
                try await work.retry(attempts: 3, if: { !($0 is SoldOut) }) { try await save(line) }
                await work.dispatch(.saved(count: line.count))
            } catch {
                await work.dispatch(.saveFailed)
            }
        }
    }
}
