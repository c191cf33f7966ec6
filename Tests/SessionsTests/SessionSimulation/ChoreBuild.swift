import MVI
import SessionJournal

@testable import Sessions

/// A deed in the first build's form.
struct FirstAction: ChoreAction {
    var deed: ChoreDeed
}

/// A deed of a build whose drawers have a lifetime.
struct DailyAction: ChoreAction {
    static var drawerLife: Life { .unused(days: 1) }
    var deed: ChoreDeed
}

/// A deed in the second build's form. It cannot read each one of the first build.
struct SecondAction: ChoreAction {
    var deed: ChoreDeed

    private enum Key: String, CodingKey { case deed, chore }
    private struct Unreadable: Error {}

    init(deed: ChoreDeed) { self.deed = deed }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        if let deed = try container.decodeIfPresent(ChoreDeed.self, forKey: .chore) {
            self.deed = deed
            return
        }
        deed = try container.decode(ChoreDeed.self, forKey: .deed)
        if !Self.reads(deed) { throw Unreadable() }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(deed, forKey: .chore)
    }

    /// Returns true if it reads a deed of the first build.
    static func reads(_ deed: ChoreDeed) -> Bool { deed.number / 100 % 2 == 0 }
}

/// A feature without a key, which sends to a drawer.
struct Desk<Deed: ChoreAction>: ChoreFeature {
    typealias Action = Deed
    typealias Other = Drawer<Deed>
    static var name: String { "desk" }
    static var otherKey: String? { "a" }
    let hooks: ChoreHooks
}

/// A feature with a key, which sends to the desk.
struct Drawer<Deed: ChoreAction>: ChoreFeature {
    typealias Action = Deed
    typealias Other = Desk<Deed>
    static var name: String { "drawer" }
    static var life: Life { Deed.drawerLife }
    static var otherKey: String? { nil }
    let hooks: ChoreHooks
}

/// A feature for clients of the tier `gold` only, which sends to a drawer.
struct Vault<Deed: ChoreAction>: ChoreFeature {
    typealias Action = Deed
    typealias Other = Drawer<Deed>
    static var name: String { "vault" }
    static var otherKey: String? { "b" }
    let hooks: ChoreHooks
}

/// One release of the features.
struct ChoreBuild: Sendable {
    let number: Int
    let features: FeatureRegistry
    /// An intent from outside the features.
    let delivery: @Sendable (ChoreIntent, FeatureID) -> Delivery

    static let desk = FeatureID(name: "desk", key: nil)
    static let drawers = [FeatureID(name: "drawer", key: "a"), FeatureID(name: "drawer", key: "b")]
    static let vault = FeatureID(name: "vault", key: nil)

    static func all(_ hooks: ChoreHooks, _ setting: SessionSimulation.Setting) throws -> [ChoreBuild] {
        if setting.hasLives { return [try ChoreBuild(1, DailyAction.self, hooks)] }
        let first = try ChoreBuild(1, FirstAction.self, hooks)
        if setting.retires { return [first, try ChoreBuild(2, FirstAction.self, hooks, hasVault: false)] }
        return [first, try ChoreBuild(2, SecondAction.self, hooks)]
    }

    private init<Action: ChoreAction>(
        _ number: Int, _ action: Action.Type, _ hooks: ChoreHooks, hasVault: Bool = true
    ) throws {
        self.number = number
        var definitions = [
            try FeatureDefinition(Desk<Action>(hooks: hooks)),
            try FeatureDefinition(keyed: { _, _ in Drawer<Action>(hooks: hooks) }),
        ]
        if hasVault {
            definitions.append(
                try FeatureDefinition(
                    Vault<Action>(hooks: hooks), rule: { principal, _, _ in principal?.claim("tier") == "gold" }))
        }
        features = try FeatureRegistry(definitions)
        delivery = { intent, feature in
            switch feature.name {
            case "desk": .intent(intent, of: Desk<Action>.self)
            case "vault": .intent(intent, of: Vault<Action>.self)
            default: .intent(intent, of: Drawer<Action>.self)
            }
        }
    }
}
