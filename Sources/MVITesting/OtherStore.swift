import MVI
import Sessions
import SessionJournal
import WireJSON

/// Another store of the session in which a feature is tested, so that `turn.view(of:)` and `turn.send(_, to:)` find it.
/// It runs its real feature.
///
/// ```swift
/// let store = TestStore(
///     Checkout(), others: [OtherStore(Cart(), state: Cart.State(items: ["tea"])), OtherStore(Stock(), key: "tea")])
/// await store.send(.placeOrder)
/// await store.receive(.placed(["tea"])) { $0.orders = [["tea"]] }
/// await store.expectSent(.empty, to: Cart.self)
/// await store.finish()
/// ```
///
/// As in a server, a store is made or loaded with the first turn that needs it.
public struct OtherStore: Sendable {
    let served: any TestedFeature

    /// A store of a feature.
    ///
    /// - Parameters:
    ///   - feature: the feature that the store runs.
    ///   - key: the instance's key, for a feature that is served by key.
    ///   - state: the state that an earlier life left: the store is restored with it. Nil for one that is not there yet.
    public init<F: Feature>(_ feature: F, key: String? = nil, state: F.State? = nil) {
        served = Served(feature, key: key, state: state)
    }

    /// All stores of a feature that is served by key: a store is made for each key of which there is none.
    ///
    /// - Parameter make: makes the feature for a key; nil where there is none of that key. What it throws is the answer
    ///   to the turn that asked.
    public init<F: Feature>(keyed make: @escaping @Sendable (_ key: String) throws -> F?) {
        served = Served(keyed: make)
    }
}

/// A feature that the session of a test serves, without its type.
protocol TestedFeature: Sendable {
    var name: String { get }
    /// One definition for this and the others of its name.
    func definition(with others: [any TestedFeature]) throws -> FeatureDefinition
    /// The store as it is kept at the test's beginning; nil if it is not.
    func kept() throws -> KeptStore?
}

/// A store as a test has it kept at its beginning.
struct KeptStore {
    let feature: FeatureID
    let schemaVersion: Int
    let state: [UInt8]
    let view: [UInt8]
}

struct Served<F: Feature>: TestedFeature {
    /// The one store that it is; nil for those of all keys.
    private let instance: (feature: F, key: String?, state: F.State?)?
    private let make: (@Sendable (String) throws -> F?)?

    init(_ feature: F, key: String?, state: F.State?) { (instance, make) = ((feature, key, state), nil) }

    init(keyed make: @escaping @Sendable (String) throws -> F?) { (instance, self.make) = (nil, make) }

    var name: String { F.name }

    func definition(with others: [any TestedFeature]) throws -> FeatureDefinition {
        let all = [self] + others.compactMap { $0 as? Served<F> }
        guard all.count == others.count + 1 else { throw FeatureDefinitionError.duplicate(F.name) }
        let keys = all.compactMap { $0.instance?.key }
        for (index, key) in keys.enumerated() where keys[..<index].contains(key) {
            throw OtherStoreError.twice(F.instance(key))
        }
        if let plain = all.compactMap(\.instance).first(where: { $0.key == nil }) {
            guard all.count == 1 else { throw OtherStoreError.twice(F.name) }
            return try FeatureDefinition(plain.feature)
        }
        return try FeatureDefinition(keyed: { key, _ in
            for served in all {
                if let instance = served.instance, instance.key == key { return instance.feature }
            }
            for served in all {
                if let feature = try served.make?(key) { return feature }
            }
            return nil
        })
    }

    func kept() throws -> KeptStore? {
        guard let instance, let state = instance.state else { return nil }
        return KeptStore(
            feature: try FeatureID(of: F.self, key: instance.key), schemaVersion: F.schemaVersion,
            state: try WireJSON.encodeStored(state).bytes, view: try WireJSON.encode(instance.feature.view(state)))
    }
}

/// The reason for which the stores of a test's session do not fit together.
enum OtherStoreError: Error, CustomStringConvertible {
    case twice(String)
    case id(String)

    var description: String {
        switch self {
        case .twice(let name):
            "the session has two stores \"\(name)\"; give each a key of its own, or leave one out"
        case .id(let text):
            "\"\(text)\" is no feature instance: a key has 1 to 64 of the characters A-Z, a-z, 0-9 and . _ ~ -"
        }
    }
}

extension FeatureID {
    /// Throws if the key cannot be one.
    init<F: Feature>(of feature: F.Type, key: String?) throws(OtherStoreError) {
        let text = F.instance(key)
        guard let id = FeatureID(text) else { throw .id(text) }
        self = id
    }
}
