import MVI
import SessionJournal

/// The spaces of one or more shared features: one for the server, or one for each key.
@usableFromInline
package struct SpaceGroup: Sendable, Hashable {
    /// The first part of the spaces' names.
    package let name: String
    package let isKeyed: Bool
    /// True if only the server's own code makes spaces.
    package let isExisting: Bool
    /// True if everyone may read and send: no identity is judged.
    package private(set) var isForEveryone = false

    @usableFromInline
    package init(_ name: String, isKeyed: Bool, isExisting: Bool = false) {
        (self.name, self.isKeyed, self.isExisting) = (name, isKeyed, isExisting)
    }

    package var forEveryone: SpaceGroup {
        var group = self
        group.isForEveryone = true
        return group
    }

    /// The space of a feature's key; nil if the group has none for it.
    func space(of key: String?) -> SpaceName? {
        guard (key != nil) == isKeyed else { return nil }
        return SpaceName(key.map { "\(name):\($0)" } ?? name)
    }
}
