/// The class of a session's lifetime. It follows from the columns of its row, so a changed setting acts at once.
package enum LifeClass: Int, Sendable, CaseIterable {
    /// Lives for a time after its last use.
    case anonymous = 0
    /// A subject's session with one credential, and as long as that.
    case unshared = 1
    /// The session that a subject's devices share.
    case shared = 2
    /// A space, which lives for a time after its last use.
    case space = 3

    package init(isOfSubject: Bool, isShared: Bool) {
        self = isOfSubject ? isShared ? .shared : .unshared : .anonymous
    }
}

extension SessionRecord {
    package var lifeClass: LifeClass {
        space == nil ? LifeClass(isOfSubject: subject != nil, isShared: isShared) : .space
    }
}

/// A time or duration for each class of lifetime.
package struct PerLifeClass: Sendable, Hashable {
    package var anonymous: Duration
    package var unshared: Duration
    package var shared: Duration
    package var space: Duration

    package init(anonymous: Duration, unshared: Duration, shared: Duration, space: Duration) {
        (self.anonymous, self.unshared, self.shared, self.space) = (anonymous, unshared, shared, space)
    }

    /// The same value for each class.
    package init(_ value: Duration) {
        self.init(anonymous: value, unshared: value, shared: value, space: value)
    }

    package subscript(life: LifeClass) -> Duration {
        switch life {
        case .anonymous: anonymous
        case .unshared: unshared
        case .shared: shared
        case .space: space
        }
    }

    package func map(_ transform: (LifeClass, Duration) -> Duration) -> PerLifeClass {
        PerLifeClass(
            anonymous: transform(.anonymous, anonymous), unshared: transform(.unshared, unshared),
            shared: transform(.shared, shared), space: transform(.space, space))
    }
}
