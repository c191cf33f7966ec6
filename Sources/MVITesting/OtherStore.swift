import MVI
import Sessions
import SessionJournal
import WireJSON

/// Another store in the session of a test, with its real feature, for `turn.view(of:)` and `turn.send(_, to:)`.
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
/// As in a server, the first turn that needs the store creates or loads it.
public struct OtherStore: Sendable {
    let served: any TestedFeature

    /// Creates a store of a feature.
    ///
    /// - Parameters:
    ///   - feature: the store's feature.
    ///   - key: the key in the feature id, for a keyed feature.
    ///   - state: the stored state that the store is restored with; nil for a new store.
    public init<F: Feature>(_ feature: F, key: String? = nil, state: F.State? = nil) {
        served = Served(feature, key: key, state: state)
    }

    /// Creates all stores of a keyed feature: a store is created on demand for each key.
    ///
    /// - Parameter make: returns the feature for a key, or nil if the key does not exist. An error is passed to the
    ///   turn that requested the store.
    public init<F: Feature>(keyed make: @escaping @Sendable (_ key: String) throws -> F?) {
        served = Served(keyed: make)
    }
}

/// A feature in the session of a test, without its type.
protocol TestedFeature: Sendable {
    var name: String { get }
    /// Returns one definition for this feature and the others of its name.
    func definition(with others: [any TestedFeature]) throws -> FeatureDefinition
    /// Returns the stored form at the test's beginning; nil if the store is new.
    func kept() throws -> KeptStore?
}

/// A store that is in the journal at the test's beginning.
struct KeptStore {
    let feature: FeatureID
    let schemaVersion: Int
    let state: [UInt8]
    let view: [UInt8]
}

struct Served<F: Feature>: TestedFeature {
    /// The single store; nil for the stores of all keys.
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

/// The error for stores that cannot be combined in a session.
enum OtherStoreError: Error, CustomStringConvertible {
    case twice(String)
    case id(String)

    var description: String {
        switch self {
        case .twice(let name):
            "the session has two stores \"\(name)\"; use different keys, or remove one"
        case .id(let text):
            "\"\(text)\" is not a feature id: a key has 1 to 64 of the characters A-Z, a-z, 0-9 and . _ ~ -"
        }
    }
}

extension FeatureID {
    /// Throws if the key is invalid.
    init<F: Feature>(of feature: F.Type, key: String?) throws(OtherStoreError) {
        let text = F.instance(key)
        guard let id = FeatureID(text) else { throw .id(text) }
        self = id
    }
}
