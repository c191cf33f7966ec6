import Logging
import MVI
import Sessions

/// Features whose stores belong to a name instead of a session: everybody who may opens the same store.
///
/// ```swift
/// Shared { Floor() }.allows(.everyone)                 // one store for the server: floor
/// Shared { key in Board(id: key) }                     // one for each key: board:42
///     .allows { who, key, access in access != .dispose || who?.claim("role") == "staff" }
/// Shared("inn") { key in Kitchen(key); Bar(key) }      // several features in one space: one queue, one commit
///     .allows(.everyone)
/// Shared("club") { Bar(); Stage() }.allows(.everyone)  // the same without a key
/// ```
///
/// Being shared is a property of the declaration: the same feature can be served for each session. A declaration says who may
/// use it with `allows`.
///
/// A store's turns have the principal of the caller, and ``/MVI/Turn/sender``; their session is the space.
public struct Shared: Sendable {
    /// The clients that may use a shared feature.
    public struct Everyone: Sendable {
        /// All clients, also anonymous ones, may read and send intents. None may dispose of a store.
        public static let everyone = Everyone()
    }

    @usableFromInline let group: SpaceGroup
    @usableFromInline let serve: [@Sendable (SpaceGroup) -> ServedFeature]

    @usableFromInline
    init(_ group: SpaceGroup, _ serve: [@Sendable (SpaceGroup) -> ServedFeature]) {
        (self.group, self.serve) = (group, serve)
    }

    /// One store for the server.
    ///
    /// - Parameters:
    ///   - group: the first part of the names under which its stores are kept; nil for the feature's name. Stores are not
    ///     found under another one.
    ///   - make: returns the feature; called once.
    @inlinable
    public init<F: Feature>(_ group: String? = nil, _ make: () -> F) {
        let feature = make()
        self.init(
            SpaceGroup(group ?? F.name, isKeyed: false), [{ ServedFeature(feature, in: $0) }])
    }

    /// One store for each key.
    ///
    /// - Parameters:
    ///   - group: see the other initializer.
    ///   - examples: public example keys, see `Keyed`.
    ///   - existing: true if only the server's own code makes stores: clients get 404 for other keys.
    ///   - make: returns the instance of a key; nil if the key does not exist, which answers 404. A `Refusal` becomes the
    ///     answer. Called on a request's thread; must not block.
    @inlinable
    public init<F: Feature>(
        _ group: String? = nil, examples: [String] = [], existing: Bool = false,
        _ make: @escaping @Sendable (_ key: String) throws -> F?
    ) {
        self.init(
            SpaceGroup(group ?? F.name, isKeyed: true, isExisting: existing),
            [{ ServedFeature(in: $0, examples: examples, make) }])
    }

    /// Several features with stores in one space for the server: one queue, one commit; their turns read each other's states
    /// and send each other intents.
    ///
    /// - Parameters:
    ///   - group: the space's name.
    ///   - make: returns the features; called once.
    @inlinable
    @_disfavoredOverload
    public init<each F: Feature>(_ group: String, @SharedBuilder _ make: () -> (repeat each F)) {
        var serve: [@Sendable (SpaceGroup) -> ServedFeature] = []
        repeat Self.add(each make(), to: &serve)
        self.init(SpaceGroup(group, isKeyed: false), serve)
    }

    @usableFromInline
    static func add<F: Feature>(_ feature: F, to serve: inout [@Sendable (SpaceGroup) -> ServedFeature]) {
        serve.append { ServedFeature(feature, in: $0) }
    }

    /// Several features with stores in one space for each key: one queue, one commit; their turns read each other's states
    /// and send each other intents.
    ///
    /// - Parameters:
    ///   - group: the first part of the spaces' names.
    ///   - examples: public example keys, see `Keyed`.
    ///   - existing: true if only the server's own code makes stores: clients get 404 for other keys.
    ///   - make: returns the features of a key. If it throws, the key does not exist, as in the other initializer.
    @inlinable
    @_disfavoredOverload
    public init<each F: Feature>(
        _ group: String, examples: [String] = [], existing: Bool = false,
        @SharedBuilder _ make: @escaping @Sendable (_ key: String) throws -> (repeat each F)
    ) {
        let all: @Sendable (String) throws -> [any Feature] = { key in
            let made = try make(key)
            var all: [any Feature] = []
            repeat all.append(each made)
            return all
        }
        var serve: [@Sendable (SpaceGroup) -> ServedFeature] = []
        func add<G: Feature>(_ type: G.Type) {
            let index = serve.count
            serve.append { group in ServedFeature(in: group, examples: examples) { try all($0)[index] as? G } }
        }
        repeat add((each F).self)
        self.init(SpaceGroup(group, isKeyed: true, isExisting: existing), serve)
    }

    /// The features for all clients.
    public func allows(_ everyone: Everyone) -> ServerContent {
        content(group.forEveryone) { _, _, access in access != .dispose }
    }

    /// The features under an access rule: the principal is nil for an anonymous client, the key for a feature without
    /// keys, and for a feature as a whole. See `Keyed.requires`.
    public func allows(
        _ rule: @escaping @Sendable (_ principal: Principal?, _ key: String?, _ access: Access) -> Bool
    ) -> ServerContent {
        content(group, rule)
    }

    private func content(_ group: SpaceGroup, _ rule: @escaping AccessRule) -> ServerContent {
        ServerContent(
            features: serve.map {
                var feature = $0(group)
                feature.rule = rule
                return feature
            })
    }
}

/// Builds the features of one space.
@resultBuilder
public enum SharedBuilder {
    /// The features, in order.
    @inlinable
    public static func buildBlock<each F: Feature>(_ features: repeat each F) -> (repeat each F) {
        (repeat each features)
    }
}

extension ServedFeature {
    /// One instance for the server.
    @inlinable
    init<F: Feature>(_ feature: F, in group: SpaceGroup) {
        define = { rule, _, _ in try FeatureDefinition(feature, rule: rule, spaces: group) }
    }

    /// One instance for each key.
    @inlinable
    init<F: Feature>(
        in group: SpaceGroup, examples: [String], _ make: @escaping @Sendable (_ key: String) throws -> F?
    ) {
        define = { rule, makesExamples, logger in
            let examples = ExampleKeys<F>(examples, make: makesExamples ? make : nil)
            return try FeatureDefinition(rule: rule, spaces: group, examples: examples) { key, _ -> F? in
                do {
                    return try make(key)
                } catch let refusal as Refusal {
                    throw refusal
                } catch {
                    Self.note(error, key, F.name, logger)
                    return nil
                }
            }
        }
    }
}
