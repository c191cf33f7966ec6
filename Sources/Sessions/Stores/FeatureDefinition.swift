import MVI
import SessionJournal
import Synchronization
import WireJSON

/// A feature as a server holds it, without its Swift types: its description and a function that creates stores.
@usableFromInline
package final class FeatureDefinition: Sendable {
    /// The name on the wire.
    package let name: String
    /// One sentence about it.
    package let summary: String
    /// True if instances are named by a key.
    package let isKeyed: Bool
    /// The filter of a stream that shows only the feature; nil for a keyed one. Many streams share it.
    let filter: StreamFilter?
    /// True if its turns can be recorded: its messages and actions can be encoded.
    package let isRecordable: Bool
    /// One JSON object for each intent, from the feature's examples.
    package let intentExamples: [[UInt8]]
    /// One JSON object for each label, from the feature's examples.
    package let labelExamples: [[UInt8]]
    /// Example keys; empty for a feature without a key.
    package let exampleKeys: [String]
    /// The view state of a new store as JSON; for a keyed feature, of its first example key. Nil for a keyed feature
    /// without one, whose instances depend on the caller, or which has an access rule.
    package let stateExample: [UInt8]?
    /// The `type`s of the intents, for the refusal of an unknown one.
    package let intentTypes: [String]
    /// The types of its view state, its intents and its labels.
    package let types: ValueTypes
    /// The access rule; nil if all clients may use it.
    package let rule: AccessRule?
    /// The spaces that its stores belong to; nil for a feature with stores for each session.
    package let spaces: SpaceGroup?
    /// True if clients may see different views.
    let hasAudiences: Bool
    /// True if clients are shown who looks at a store.
    package let hasPresence: Bool
    /// Reads viewers that were written as JSON.
    let viewers: @Sendable (_ json: [UInt8]) -> KnownViewers
    /// The action that follows when other clients look at a store; nil for none.
    let viewersChanged: @Sendable (_ json: [UInt8]) -> Delivery?

    /// Creates a store of a session, from a stored one if that is not nil; nil if there is no such instance.
    let make: @Sendable (FeatureDefinition, FeatureID, Session, StoredStore?, Principal?) throws -> SessionStore?
    /// See `TurnCode`.
    let decode: @Sendable (_ body: [UInt8], (any StoreRunner)?) -> DecodedIntent
    /// True if a store of it has observed something in this process.
    private let observing = Atomic(false)
    package let schemaVersion: Int
    /// The lifetime of an unused store in a subject's session; nil if it is the session's.
    let storeLife: Duration?
    /// The turn of an action that was stored as JSON.
    let action: @Sendable (_ json: [UInt8]) throws -> RunTurn
    /// Makes another writer's state the head of a store: see `StoreCoding`.
    let adopt: @Sendable (StoredStore, any StoreRunner) throws(StoreError) -> [String]
    /// The action by which a shared store removes a person; nil if it does nothing.
    let forgetting: @Sendable (ForgottenPerson) -> Delivery?
    /// The action that follows when a message is not delivered; nil for none.
    let undelivered: @Sendable (UndeliveredMessage) -> Delivery?
    /// Replays the recorded turns of one of its instances.
    package let replayer: Replayer
    /// Decodes a body as an intent to be delivered from outside the features.
    let delivery: @Sendable (_ body: [UInt8]) throws(WireDecodingError) -> Delivery

    /// See ``observing``.
    var observes: Bool { observing.load(ordering: .relaxed) }

    func noteObservation() { observing.store(true, ordering: .relaxed) }

    /// A feature without a key.
    ///
    /// Throws `FeatureDefinitionError` if its name or the JSON of its examples is invalid.
    @inlinable
    package convenience init<F: Feature>(_ feature: F, rule: AccessRule? = nil, spaces: SpaceGroup? = nil) throws {
        try self.init(
            isKeyed: false, stateExample: { feature.view(feature.initialState) }, rule: rule, spaces: spaces,
            replayer: Replayer(feature), code: TurnCode()
        ) { key, _ in key == nil ? feature : nil }
    }

    /// A feature with a key. `make` returns the instance for a key; nil if there is none. It is called on the thread of
    /// a request that names a key without a store, and must not block.
    ///
    /// Creates the examples. Throws `FeatureDefinitionError`, also if one of them cannot be created.
    @inlinable
    package convenience init<F: Feature>(
        rule: AccessRule? = nil, spaces: SpaceGroup? = nil, examples: ExampleKeys<F> = ExampleKeys(),
        keyed make: @escaping @Sendable (_ key: String, _ caller: InstanceContext) throws -> F?
    ) throws {
        try self.init(
            isKeyed: true, exampleKeys: examples.keys, stateExample: examples.viewState, rule: rule, spaces: spaces,
            replayer: Replayer(keyed: make), code: TurnCode()
        ) { key, caller in try key.flatMap { try make($0, caller) } }
    }

    @usableFromInline
    init<F: Feature>(
        isKeyed: Bool, exampleKeys: [String] = [], stateExample: () throws -> F.ViewState?,
        rule: AccessRule?, spaces: SpaceGroup?, replayer: Replayer, code: TurnCode<F>,
        make: @escaping @Sendable (_ key: String?, InstanceContext) throws -> F?
    ) throws {
        guard FeatureID.isName(F.name.utf8), F.name != StoredLabel.directed.name else {
            throw FeatureDefinitionError.name(F.name)
        }
        if let fault = Migration.fault(of: F.self) { throw FeatureDefinitionError.migrations(fault) }
        name = F.name
        summary = F.summary
        self.isKeyed = isKeyed
        filter = isKeyed ? nil : .features([FeatureID(name: F.name, key: nil)])
        self.exampleKeys = exampleKeys
        var example = try stateExample()
        // A key's data may be only for clients with access; a description is for everyone.
        if isKeyed, rule != nil { example = nil }
        types = ValueTypes(
            viewState: F.ViewState.self, intent: F.Intent.self, label: F.Label.self,
            presence: F.hasPresence ? F.Presence.self : nil
        ) {
            [F.State.self, F.Message.self as? any Decodable.Type, F.Action.self as? any Decodable.Type]
        }
        isRecordable = TurnRecording<F>.self is any Encodable.Type
        (self.rule, self.spaces, hasAudiences) = (rule, spaces, F.hasAudiences)
        hasPresence = F.hasPresence
        viewers = { KnownViewers(Viewers(json: $0, of: F.self), json: String(decoding: $0, as: UTF8.self)) }
        viewersChanged = { F.viewersChanged(Viewers(json: $0, of: F.self)).map { .action($0, of: F.self) } }
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
        (decode, self.replayer) = (code.decode, replayer)
        self.make = { definition, id, session, stored, principal in
            let caller = InstanceContext(session: session.info, principal: principal)
            guard let feature = try make(id.key, caller) else { return nil }
            return try SessionStore(feature, code, definition, id, in: session, stored: stored)
        }
        schemaVersion = F.schemaVersion
        storeLife = if case .unused(let days) = F.life { .seconds(max(0, days) * 24 * 3600) } else { nil }
        action = { try StoreCoding.perform($0, of: F.self) }
        adopt = { stored, runner throws(StoreError) in try StoreCoding.adopt(stored, by: runner, of: F.self) }
        undelivered = { F.undelivered($0).map { .action($0, of: F.self) } }
        forgetting = { F.forgetting($0).map { .action($0, of: F.self) } }
        delivery = { body throws(WireDecodingError) in
            .intent(try WireJSON.decode(F.Intent.self, from: body, limits: .value), of: F.self)
        }
    }

    private struct Typed: Decodable { let type: String }

    /// The types whose values clients see or send, and those that are kept.
    package struct ValueTypes: Sendable {
        package let viewState: any (Codable & Sendable).Type
        package let intent: any (Codable & Sendable).Type
        package let label: any (Codable & Sendable).Type
        /// The type of presence; nil if clients see nothing of each other.
        package let presence: (any (Codable & Sendable).Type)?
        /// The types of its states, messages and actions; nil for those that are not recorded.
        package let kept: @Sendable () -> [(any Decodable.Type)?]
    }
}

/// The reason why a feature cannot be served.
package enum FeatureDefinitionError: Error, CustomStringConvertible {
    /// Its name is invalid on the wire.
    case name(String)
    /// Two features have that name.
    case duplicate(String)
    /// Its schema version and its migrations do not match.
    case migrations(String)
    /// An example cannot be converted to JSON and back.
    case mapping(feature: String, any Error)
    /// Clients cannot use the JSON of some members.
    case types(feature: String, members: [String])
    /// It does not accept one of its example keys.
    case exampleKey(feature: String, key: String, _ reason: String)

    package var description: String {
        switch self {
        case .name(let name):
            "the feature name '\(name)' does not match [a-z][a-z0-9-]{0,47}; set a matching `static let name`"
        case .duplicate(let name):
            "two features are called '\(name)'; give one of them a `static let name` of its own"
        case .migrations(let fault): fault
        case .mapping(let feature, let error):
            "the feature '\(feature)' cannot be mapped to JSON: \(error)"
        case .types(let feature, let members):
            "the feature '\(feature)' cannot be mapped to JSON: \(members.joined(separator: "; "))"
        case .exampleKey(let feature, let key, let reason):
            "the feature '\(feature)' does not accept its example key '\(key)' (\(reason)); "
                + "use keys in `Keyed(examples:)` that exist when the server starts"
        }
    }
}

/// The features of a server, by name.
package final class FeatureRegistry: Sendable {
    /// In the order in which they were given.
    package let definitions: [FeatureDefinition]
    private let byName: [String: FeatureDefinition]
    /// The features with an access rule.
    package let ruled: [FeatureDefinition]
    /// The features whose stores many sessions share.
    package let shared: [FeatureDefinition]
    /// The features whose stores have a lifetime of their own.
    package let mortal: [FeatureDefinition]
    /// True if one of the features has audiences.
    let haveAudiences: Bool
    private let havePresence: Bool

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
        shared = definitions.filter { $0.spaces != nil }
        mortal = definitions.filter { $0.storeLife != nil }
        haveAudiences = definitions.contains { $0.hasAudiences }
        havePresence = definitions.contains { $0.hasPresence }
    }

    /// True if clients may see different views of a feature that a filter shows.
    func haveAudiences(_ filter: StreamFilter) -> Bool {
        guard haveAudiences else { return false }
        guard case .features(let named) = filter else { return true }
        return named.contains { definition(for: $0)?.hasAudiences == true }
    }

    /// True if clients of a feature that a filter shows see each other.
    func havePresence(_ filter: StreamFilter) -> Bool {
        guard havePresence else { return false }
        guard case .features(let named) = filter else { return true }
        return named.contains { definition(for: $0)?.hasPresence == true }
    }

    /// The feature of that name.
    package subscript(name: String) -> FeatureDefinition? { byName[name] }

    /// The feature that the id names, if the id has a key exactly for a keyed feature.
    package func definition(for id: FeatureID) -> FeatureDefinition? {
        guard let definition = byName[id.name], definition.isKeyed == id.hasKey else { return nil }
        return definition
    }

    /// The same if stores of the instance belong to a space, or to sessions if that is nil.
    func definition(for id: FeatureID, in space: SpaceName?) -> FeatureDefinition? {
        guard let definition = definition(for: id), definition.spaces?.space(of: id.key) == space else { return nil }
        return definition
    }

    /// True if a client's request may make the space of an instance.
    package func makesSpaces(of id: FeatureID) -> Bool { definition(for: id)?.spaces?.isExisting == false }

    /// The space that an instance's store belongs to; nil if each session has a store of its own.
    package func space(of id: FeatureID) -> SpaceName? {
        shared.isEmpty ? nil : definition(for: id)?.spaces?.space(of: id.key)
    }
}

/// The name of a feature instance on the wire.
package typealias FeatureID = MVI.FeatureID

/// Returns true if a principal, nil for an anonymous client, may access a feature's instance. Called from any thread, never
/// under a lock; must not block.
///
/// The key is nil for a feature without one, and for a question about the feature as a whole.
@usableFromInline
package typealias AccessRule = @Sendable (Principal?, _ key: String?, Access) -> Bool

extension FeatureDefinition {
    /// True if the principal may use the feature.
    package func allows(_ principal: Principal?, key: String? = nil, _ access: Access) -> Bool {
        rule.map { $0(principal, key, access) } ?? true
    }
}

extension FeatureRegistry {
    /// The filter of a stream that shows one instance.
    package func filter(of feature: FeatureID) -> StreamFilter {
        definition(for: feature)?.filter ?? .features([feature])
    }

    /// True if an instance has an access rule.
    func isRuled(_ feature: FeatureID) -> Bool { !ruled.isEmpty && definition(for: feature)?.rule != nil }

    /// True if a principal may access an instance.
    package func allows(_ principal: Principal?, _ feature: FeatureID, _ access: Access) -> Bool {
        ruled.isEmpty || definition(for: feature)?.allows(principal, key: feature.key, access) ?? true
    }
}

/// The example keys of a keyed feature, for readers who do not know it.
@usableFromInline
package struct ExampleKeys<F: Feature>: Sendable {
    /// In the order in which they were given.
    @usableFromInline let keys: [String]
    private let make: (@Sendable (_ key: String) throws -> F?)?

    /// - Parameter make: creates the instance of a key without a caller; nil if that is impossible or not wanted.
    @usableFromInline
    package init(_ keys: [String] = [], make: (@Sendable (_ key: String) throws -> F?)? = nil) {
        (self.keys, self.make) = (keys, make)
    }

    /// The view state of a new store of the first key; nil if it depends on the caller.
    ///
    /// Creates an instance of each key. Throws `FeatureDefinitionError` for an invalid or unaccepted key. A `Refusal`
    /// is no error of the key: it may depend on the caller and the time.
    @usableFromInline
    func viewState() throws -> F.ViewState? {
        var state: F.ViewState?
        for (index, key) in keys.enumerated() {
            guard FeatureID.isKey(key.utf8) else { throw fault(key, "a key is [A-Za-z0-9._~-]{1,64}") }
            guard !keys[..<index].contains(key) else { throw fault(key, "it is listed twice") }
            guard let make else { continue }
            do {
                guard let feature = try make(key) else { throw fault(key, "no instance has it") }
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
