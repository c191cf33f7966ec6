/// The clients that a label is directed to, among those that show the feature.
///
/// A stream shows such a label if its client is meant when the label is written. A client without a stream that does not
/// resume while the label is kept does not get it.
public struct Addressee<Audience: Hashable & Sendable>: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case everyone
        case audience(Audience)
        case sender
        case subject(Subject)
        case session(String)
    }

    package let kind: Kind

    /// All clients.
    public static var everyone: Self { Self(kind: .everyone) }
    /// The clients of an audience. Its JSON is compared.
    public static func audience(_ audience: Audience) -> Self where Audience: Encodable {
        Self(kind: .audience(audience))
    }
    /// The client that sent the intent, on all its devices: see ``Turn/sender``. In a shared store, a turn that has no sender
    /// fails. In a session's own store these are all clients.
    public static var sender: Self { Self(kind: .sender) }
    /// The clients that are signed in as a user, in any session.
    public static func subject(_ subject: Subject) -> Self { Self(kind: .subject(subject)) }
    /// The clients of a session, whoever they are by then: see ``Sender/session``.
    public static func session(_ id: String) -> Self { Self(kind: .session(id)) }
}

/// The addressee of a label with the label's index in its turn.
@usableFromInline
package typealias LabelTo<F: Feature> = (label: Int, to: Addressee<F.Audience>)

/// An addressee as it is stored with a label.
@usableFromInline
package indirect enum LabelAddressee: Hashable, Sendable {
    /// The JSON of the feature's audience.
    case audience([UInt8])
    /// The id of a ``Sender``.
    case sender(String)
    case subject(Subject)
    /// The id of a session.
    case session(String)
}

extension Turn {
    /// Publishes a label to some of the clients that show the feature.
    ///
    /// ```swift
    /// turn.publish(.tableReady, to: .session(party.session))
    /// ```
    public mutating func publish(_ label: F.Label, to addressee: Addressee<F.Audience>) {
        if addressee != .everyone { makeRare().addressees.append((labels.count, addressee)) }
        publish(label)
    }

    /// True if clients share the store.
    package var isShared: Bool { context.host.isShared }
}

extension Work {
    /// Publishes a label to some of the clients that show the feature, in one step. Work has no sender.
    public func publish(_ label: F.Label, to addressee: Addressee<F.Audience>) async {
        await turn { $0.publish(label, to: addressee) }
    }
}
