import MVI

/// The complete history of a store: each turn adds to it.
struct ChoreState: Codable, Equatable, Sendable {
    /// Distinguishes the store from all others of a run.
    var life = 0
    /// The numbers of the intents that ran, in order.
    var entries: [Int] = []
    /// The numbers of the intents that other stores' turns sent.
    var passed: [Int] = []
    /// Launched and finished work that is counted.
    var opened: [Int] = []
    var worked: [Int] = []
    /// Work that arrived in another store than the one that launched it.
    var strayed: [Int] = []
    /// The reminders that fired.
    var rung: [Int] = []
    /// The names of reminders that `onFailure` got.
    var givenUp: [String] = []
    /// The sign-ins that the store got.
    var signedIn: [Int] = []
    var filler = ""
    var ratio = 0.0
}

/// The fate of a turn, or of its consequences.
enum ChoreFate: String, Codable, Sendable {
    case well, says, whispers, works, stays
    /// The handler throws, or refuses.
    case fails, refuses
    /// The turn's state is too large, or not JSON.
    case fills, spoils
    /// The turn sends an intent that sends an intent, without end.
    case loops
    /// The turn sets four reminders.
    case reminds
    /// A reminder sets itself again.
    case again

    /// True if nothing of such a turn is committed.
    var isUndone: Bool {
        switch self {
        case .fails, .refuses, .fills, .spoils, .loops: true
        case .well, .says, .whispers, .works, .stays, .reminds, .again: false
        }
    }
}

enum ChoreIntent: Codable, Equatable, Sendable {
    case act(number: Int, fate: ChoreFate)
    /// Sends an intent to another store.
    case pass(number: Int, fate: ChoreFate)
    /// The intent of `pass`.
    case sent(number: Int, fate: ChoreFate)
    /// Launches work with a step that sends an intent to another store, which launches work.
    case relay(number: Int)
    /// Reads another store.
    case look(number: Int)
    case remind(number: Int, id: String, after: Int, fate: ChoreFate, passes: Bool)
    case hush(number: Int, id: String)
    /// Has a check that takes so many seconds.
    case ask(number: Int, seconds: Int)

    var number: Int {
        switch self {
        case .act(let number, _), .pass(let number, _), .sent(let number, _), .relay(let number), .look(let number),
            .remind(let number, _, _, _, _), .hush(let number, _), .ask(let number, _):
            number
        }
    }
}

/// The task of a reminder.
struct ChoreDeed: Codable, Hashable, Sendable {
    var number: Int
    var id: String
    var fate: ChoreFate
    /// True if another store should do it.
    var passes: Bool
}

/// A deed in the form that a build stores.
protocol ChoreAction: Codable, Sendable {
    /// The lifetime of drawers in the build that stores deeds in this form.
    static var drawerLife: Life { get }
    var deed: ChoreDeed { get }
    init(deed: ChoreDeed)
}

extension ChoreAction {
    static var drawerLife: Life { .session }
}

enum ChoreMessage: Codable, Sendable {
    case began(life: Int)
    case entered(Int), passed(Int), opened(Int), rung(Int), signedIn(Int)
    case worked(Int, life: Int)
    case gaveUp(String)
    case filled, spoiled
}

enum ChoreLabel: Codable, Equatable, Sendable {
    case said(number: Int)
    /// A short-lived label.
    case whispered(number: Int)
}

/// A feature with all abilities of a feature; each sends intents to another one.
protocol ChoreFeature: Feature
where
    State == ChoreState, Intent == ChoreIntent, Message == ChoreMessage, Label == ChoreLabel, ViewState == ChoreState,
    Action: ChoreAction
{
    associatedtype Other: ChoreFeature
    static var otherKey: String? { get }
    var hooks: ChoreHooks { get }
}

/// The error that a turn throws.
struct ChoreBroken: Error {}

extension ChoreFeature {
    static var examples: [ChoreIntent] {
        [
            .act(number: 1, fate: .well), .pass(number: 1, fate: .well), .sent(number: 1, fate: .well),
            .relay(number: 1), .look(number: 1), .remind(number: 1, id: "a", after: 1, fate: .well, passes: false),
            .hush(number: 1, id: "a"), .ask(number: 1, seconds: 1),
        ]
    }
    static var labelExamples: [ChoreLabel] { [.said(number: 1), .whispered(number: 1)] }
    var initialState: ChoreState { ChoreState() }

    var middleware: Middleware<Self> {
        .intercepting { [hooks] intent, _ in
            hooks.judged(intent)
            return intent
        }
    }

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        if reason == .new { turn.dispatch(.began(life: hooks.nextLife())) }
        let (life, place) = (turn.state.life, turn.instance)
        turn.whileWatched(id: "watch", grace: .seconds(2)) { [hooks] work in
            try await hooks.run(nil, place, life) { try await work.sleep(for: .seconds(1_000_000)) }
        }
    }

    func signedIn(_ principal: Principal, _ turn: inout Turn<Self>) {
        turn.dispatch(.signedIn(principal.claim("serial")?.integer ?? 0))
    }

    func check(_ intent: ChoreIntent) -> Check? {
        guard case .ask(_, let seconds) = intent else { return nil }
        return { [hooks] _ in
            try await hooks.sleep(seconds: seconds)
            return .execute
        }
    }

    func execute(_ intent: ChoreIntent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .act(let number, let fate):
            turn.dispatch(.entered(number))
            try meet(fate, number, &turn)
        case .pass(let number, let fate):
            turn.dispatch(.entered(number))
            if fate == .reminds { try meet(fate, number, &turn) }
            turn.send(.sent(number: number, fate: fate), to: Other.self, key: Self.otherKey)
        case .sent(let number, let fate):
            turn.dispatch(.passed(number))
            try meet(fate, number, &turn)
        case .relay(let number):
            turn.dispatch(.entered(number))
            turn.dispatch(.opened(number))
            launch(number, &turn) { work in
                try await work.turn { (turn: inout Turn<Self>) throws in
                    turn.send(.sent(number: number, fate: .works), to: Other.self, key: Self.otherKey)
                }
            }
        case .look(let number):
            _ = try turn.view(of: Other.self, key: Self.otherKey)
            turn.dispatch(.entered(number))
        case .remind(let number, let id, let after, let fate, let passes):
            turn.dispatch(.entered(number))
            remind(ChoreDeed(number: number * 100, id: id, fate: fate, passes: passes), after: after, &turn)
        case .hush(let number, let id):
            turn.dispatch(.entered(number))
            turn.cancelReminder(id)
        case .ask(let number, _): turn.dispatch(.entered(number))
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) throws {
        let deed = action.deed
        hooks.tried(deed.number)
        turn.dispatch(.rung(deed.number))
        if deed.passes {
            turn.send(.sent(number: deed.number, fate: deed.fate), to: Other.self, key: Self.otherKey)
        } else if deed.fate == .again {
            remind(ChoreDeed(number: deed.number + 1, id: deed.id, fate: .well, passes: false), after: 3, &turn)
        } else {
            try meet(deed.fate, deed.number, &turn)
        }
    }

    private func remind(_ deed: ChoreDeed, after seconds: Int, _ turn: inout Turn<Self>) {
        turn.remind(id: deed.id, after: .seconds(seconds), Action(deed: deed))
    }

    private func meet(_ fate: ChoreFate, _ number: Int, _ turn: inout Turn<Self>) throws {
        switch fate {
        case .well, .again: break
        case .says: turn.publish(.said(number: number))
        case .whispers: turn.publish(.whispered(number: number))
        case .works, .stays:
            turn.dispatch(.opened(number))
            launch(number, &turn, seconds: fate == .stays ? 1_000_000 : 1 + number % 3) { _ in }
        case .fails:
            turn.publish(.said(number: number))
            throw ChoreBroken()
        case .refuses: throw Refusal(.conflict, "Not now.")
        case .fills: turn.dispatch(.filled)
        case .spoils: turn.dispatch(.spoiled)
        case .loops: turn.send(.sent(number: number, fate: .loops), to: Other.self, key: Self.otherKey)
        case .reminds:
            let isSent = turn.state.passed.contains(number)
            for place in 1...4 {
                let deed = ChoreDeed(
                    number: number * 100 + place + (isSent ? 10 : 0), id: "many\(place)", fate: .well, passes: false)
                remind(deed, after: 20, &turn)
            }
        }
    }

    private func launch(
        _ number: Int, _ turn: inout Turn<Self>, seconds: Int = 1,
        _ step: @escaping @Sendable (Work<Self>) async throws -> Void
    ) {
        let (life, place) = (turn.state.life, turn.instance)
        turn.launch { [hooks] work in
            try await hooks.run(number, place, life) {
                try await work.sleep(for: .seconds(seconds))
                try await step(work)
                await work.dispatch(.worked(number, life: life))
            }
        }
    }

    func reduce(_ state: inout ChoreState, _ message: ChoreMessage) {
        switch message {
        case .began(let life): state.life = life
        case .entered(let number): state.entries.append(number)
        case .passed(let number): state.passed.append(number)
        case .opened(let number): state.opened.append(number)
        case .rung(let number): state.rung.append(number)
        case .signedIn(let serial): state.signedIn.append(serial)
        case .worked(let number, let life):
            if life == state.life { state.worked.append(number) } else { state.strayed.append(number) }
        case .gaveUp(let id): state.givenUp.append(id)
        case .filled: state.filler = String(repeating: ".", count: 5_000)
        case .spoiled: state.ratio = .infinity
        }
    }

    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) {
        let id = failure.intentID.text
        if id.hasPrefix("‹reminder") { turn.dispatch(.gaveUp(id)) }
    }

    func timeToLive(of label: ChoreLabel) -> Duration {
        if case .whispered = label { .seconds(30) } else { .seconds(10_000_000) }
    }
}

extension ChoreIntent {
    /// True if nothing of it is committed.
    var isUndone: Bool {
        switch self {
        case .act(_, let fate), .pass(_, let fate), .sent(_, let fate): fate.isUndone
        case .relay, .look, .remind, .hush, .ask: false
        }
    }
}

extension FeatureID {
    /// The store to which a chore's store sends.
    var otherChore: FeatureID {
        switch name {
        case "desk": ChoreBuild.drawers[0]
        case "vault": ChoreBuild.drawers[1]
        default: ChoreBuild.desk
        }
    }
}
