import MVI

/// An offer for customers of the premium tier.
struct Offer: Codable, Equatable, Sendable {
    let text: String
    let coupon: String
}

/// The offers of the day.
struct Offers: Feature {
    struct State: Codable, Equatable, Sendable { var offers: [Offer] = [] }
    enum Intent: Codable, Equatable, Sendable { case refresh }
    enum Message: Codable, Equatable, Sendable { case shown([Offer]) }

    static let summary = "The offers of the day, for premium customers."
    static let examples: [Intent] = [.refresh]
    let initialState = State()
    let today: @Sendable () -> AsyncStream<[Offer]>

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) { observe(&turn) }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        turn.throttle(id: "refresh", for: .seconds(5), latest: true) { work in
            await work.turn { observe(&$0) }
        }
    }

    /// Observes the offers while a stream shows the store.
    private func observe(_ turn: inout Turn<Self>) {
        turn.observe(id: "offers") { [today] in
            today()
        } onElement: { offers, work in
            await work.dispatch(.shown(offers))
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .shown(let offers): state.offers = offers
        }
    }
}
