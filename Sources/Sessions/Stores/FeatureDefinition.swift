import MVI
import SessionJournal
import WireJSON

/// A feature as a server holds it: described, and able to make stores, without its Swift types.
@usableFromInline
package final class FeatureDefinition: Sendable {
    /// The name on the wire.
    package let name: String
    /// One sentence about it.
    package let summary: String
    /// Whether an instance is named by a key.
    package let isKeyed: Bool
    /// Whether its turns can be recorded: its messages and actions can be encoded.
    package let isRecordable: Bool
    /// One JSON object for each intent, from the feature's examples.
    package let intentExamples: [[UInt8]]
    /// One JSON object for each label, from the feature's examples.
    package let labelExamples: [[UInt8]]
    /// Keys that can be tried; none for a feature without a key.
    package let exampleKeys: [String]
    /// The view state of a new store as JSON, of a keyed feature of its first example key. Nil for a keyed feature without
    /// one, whose instances depend on who asks, or which not everybody may use.
    package let stateExample: [UInt8]?
    /// The `type`s of the intents, for a refusal of an unknown one.
    package let intentTypes: [String]
    /// The types of its view state, its intents and its labels.
    package let types: ValueTypes
    /// Who may use it; nil for everybody.
    package let rule: AccessRule?

    @usableFromInline let make: @Sendable (_ key: String?, _ seed: ErasedStore.Seed) throws -> ErasedStore?
    /// What a body is to the feature, and to the store whose runner it is.
    @usableFromInline let decode: @Sendable (_ body: [UInt8], (any StoreRunner)?) -> DecodedIntent
    /// The intent that a body is, to be delivered from outside the features.
    let delivery: @Sendable (_ body: [UInt8]) throws(WireDecodingError) -> Delivery

    /// A feature without a key.
    ///
    /// Throws `FeatureDefinitionError` when its name or the JSON of its examples is not fit for the wire.
    @inlinable
    package convenience init<F: Feature>(_ feature: F, rule: AccessRule? = nil) throws {
        try self.init(
            of: F.self, isKeyed: false, stateExample: { feature.view(feature.initialState) }, rule: rule,
            decode: DecodedIntent.reader(of: F.self),
            make: { key, seed in key == nil ? try ErasedStore(feature, seed) : nil })
    }

    /// A feature with a key: `make` returns the instance for a key, nil if there is none of that key. It is called on
    /// the thread of a request, whenever one names a key of which the session has no store, and must not block.
    ///
    /// Makes the examples. Throws `FeatureDefinitionError` also where one of them cannot be made.
    @inlinable
    package convenience init<F: Feature>(
        rule: AccessRule? = nil, examples: ExampleKeys<F> = ExampleKeys(),
        keyed make: @escaping @Sendable (_ key: String, _ caller: InstanceContext) throws -> F?
    ) throws {
        try self.init(
            of: F.self, isKeyed: true, exampleKeys: examples.keys, stateExample: examples.viewState, rule: rule,
            decode: DecodedIntent.reader(of: F.self),
            make: { key, seed in
                let caller = InstanceContext(session: seed.environment.session, principal: seed.principal)
                guard let key, let feature = try make(key, caller) else { return nil }
                return try ErasedStore(feature, seed)
            })
    }

    @usableFromInline
    init<F: Feature>(
        of type: F.Type, isKeyed: Bool, exampleKeys: [String] = [], stateExample: () throws -> F.ViewState?,
        rule: AccessRule?, decode: @escaping @Sendable (_ body: [UInt8], (any StoreRunner)?) -> DecodedIntent,
        make: @escaping @Sendable (_ key: String?, _ seed: ErasedStore.Seed) throws -> ErasedStore?
    ) throws {
        guard FeatureID.isName(F.name.utf8) else { throw FeatureDefinitionError.name(F.name) }
        if let fault = Migration.fault(of: F.self) { throw FeatureDefinitionError.migrations(fault) }
        name = F.name
        summary = F.summary
        self.isKeyed = isKeyed
        self.exampleKeys = exampleKeys
        var example = try stateExample()
        // The data of a key may be for those only who may use the feature; a description is for everybody.
        if isKeyed, rule != nil { example = nil }
        types = ValueTypes(viewState: F.ViewState.self, intent: F.Intent.self, label: F.Label.self)
        isRecordable = TurnRecording<F>.self is any Encodable.Type
        self.rule = rule
        do {
            for example in F.examples { try WireJSON.checkMapping(of: example) }
            for example in F.labelExamples { try WireJSON.checkMapping(of: example) }
            intentExamples = try F.examples.map { try WireJSON.encode($0) }
            labelExamples = try F.labelExamples.map { try WireJSON.encode($0) }
            self.stateExample = try example.map { try WireJSON.encode($0) }
            intentTypes = try intentExamples.map { try WireJSON.decode(Typed.self, from: $0).type }
        } catch {
            throw FeatureDefinitionError.mapping(feature: F.name, error)
        }
        (self.make, self.decode) = (make, decode)
        delivery = { body throws(WireDecodingError) in
            .intent(try WireJSON.decode(F.Intent.self, from: body), of: F.self)
        }
    }

    private struct Typed: Decodable { let type: String }

    /// The types whose values clients see or send.
    package struct ValueTypes: Sendable {
        package let viewState: any (Codable & Sendable).Type
        package let intent: any (Codable & Sendable).Type
        package let label: any (Codable & Sendable).Type
    }
}

/// Why a feature cannot be served.
package enum FeatureDefinitionError: Error, CustomStringConvertible {
    /// Its name is no name on the wire.
    case name(String)
    /// Two features have that name.
    case duplicate(String)
    /// Its schema version and its migrations do not fit together.
    case migrations(String)
    /// An example cannot be mapped to JSON and back.
    case mapping(feature: String, any Error)
    /// It does not take one of its example keys.
    case exampleKey(feature: String, key: String, _ reason: String)

    package var description: String {
        switch self {
        case .name(let name):
            "the feature name '\(name)' is not [a-z][a-z0-9-]{0,47}; give the feature a `static let name` that is"
        case .duplicate(let name):
            "two features are called '\(name)'; give one of them a `static let name` of its own"
        case .migrations(let fault): fault
        case .mapping(let feature, let error):
            "the feature '\(feature)' cannot be mapped to JSON: \(error)"
        case .exampleKey(let feature, let key, let reason):
            "the feature '\(feature)' does not take its example key '\(key)' (\(reason)); "
                + "name keys in `Keyed(examples:)` that there are when the server starts"
        }
    }
}

/// The features of a server, by name.
package struct FeatureRegistry: Sendable {
    /// In the order in which they were given.
    package let definitions: [FeatureDefinition]
    private let byName: [String: FeatureDefinition]
    /// Those that not everybody may use.
    package let ruled: [FeatureDefinition]

    /// Throws `FeatureDefinitionError.duplicate`.
    package init(_ definitions: [FeatureDefinition]) throws {
        self.definitions = definitions
        var byName: [String: FeatureDefinition] = [:]
        for definition in definitions {
            guard byName.updateValue(definition, forKey: definition.name) == nil else {
                throw FeatureDefinitionError.duplicate(definition.name)
            }
        }
        self.byName = byName
        ruled = definitions.filter { $0.rule != nil }
    }

    /// The feature of that name.
    package subscript(name: String) -> FeatureDefinition? { byName[name] }

    /// The feature that the id names, if it takes a key exactly when the id has one.
    package func definition(for id: FeatureID) -> FeatureDefinition? {
        guard let definition = byName[id.name], definition.isKeyed == id.hasKey else { return nil }
        return definition
    }
}

/// Names a feature instance on the wire.
package typealias FeatureID = SessionJournal.FeatureID

/// Whether a principal may use a feature's instance in one way. Called from any thread, never under a lock; must not block.
///
/// The key is nil for a feature without one, and where the feature as a whole is meant.
@usableFromInline
package typealias AccessRule = @Sendable (Principal, _ key: String?, Access) -> Bool

extension FeatureDefinition {
    /// Whether the feature may be used: by an anonymous client only where there is no rule.
    package func allows(_ principal: Principal?, key: String? = nil, _ access: Access) -> Bool {
        guard let rule else { return true }
        return principal.map { rule($0, key, access) } ?? false
    }
}

extension FeatureRegistry {
    /// Whether an instance has an access rule.
    func isRuled(_ feature: FeatureID) -> Bool { !ruled.isEmpty && definition(for: feature)?.rule != nil }

    /// Whether a principal may use an instance so.
    package func allows(_ principal: Principal?, _ feature: FeatureID, _ access: Access) -> Bool {
        ruled.isEmpty || definition(for: feature)?.allows(principal, key: feature.key, access) ?? true
    }
}

/// Keys of a keyed feature that somebody who does not know it can try.
@usableFromInline
package struct ExampleKeys<F: Feature>: Sendable {
    /// In the order in which they were given.
    @usableFromInline let keys: [String]
    private let make: (@Sendable (_ key: String) throws -> F?)?

    /// - Parameter make: makes the instance of a key, for no caller; nil where none can be made, or is wanted.
    @usableFromInline
    package init(_ keys: [String] = [], make: (@Sendable (_ key: String) throws -> F?)? = nil) {
        (self.keys, self.make) = (keys, make)
    }

    /// The view state of a new store of the first key; nil if that cannot be said without a caller.
    ///
    /// Makes an instance of each key. Throws `FeatureDefinitionError` for a key that is none, or is not taken. A `Refusal`
    /// is no fault of the key: who asks, and when, may decide.
    @usableFromInline
    func viewState() throws -> F.ViewState? {
        var state: F.ViewState?
        for (index, key) in keys.enumerated() {
            guard FeatureID.isKey(key.utf8) else { throw fault(key, "a key is [A-Za-z0-9._~-]{1,64}") }
            guard !keys[..<index].contains(key) else { throw fault(key, "it is named twice") }
            guard let make else { continue }
            do {
                guard let feature = try make(key) else { throw fault(key, "there is nothing under it") }
                if index == 0 { state = feature.view(feature.initialState) }
            } catch let error as FeatureDefinitionError {
                throw error
            } catch is Refusal {
                continue
            } catch {
                throw fault(key, "its maker failed: \(error)")
            }
        }
        return state
    }

    private func fault(_ key: String, _ reason: String) -> FeatureDefinitionError {
        .exampleKey(feature: F.name, key: key, reason)
    }
}
