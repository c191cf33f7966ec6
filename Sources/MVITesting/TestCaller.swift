import MVI
import Sessions
import Testing

/// A client of a shared store under test: a session of its own, and the user who is signed in there.
///
/// ```swift
/// let (ann, bob) = (TestCaller("ann"), TestCaller("bob", principal: Principal(subject: "bob")))
/// await store.send(.add(text: "milk"), as: ann) { $0.items = ["milk by \(store.sender(ann).id)"] }
/// await store.sendRejected(.remove(1), .forbidden, as: bob)
/// ```
///
/// A turn of its intents has its principal, ``/MVI/Turn/client`` and ``/MVI/Turn/sender``. Intents without a caller have no sender, like those of
/// the server's own code.
public struct TestCaller: Sendable {
    /// The id of the client's session. Callers with the same one are one sender.
    public let session: String
    /// The signed-in user; nil for an anonymous client.
    public let principal: Principal?
    /// The client's locale, time zone and address.
    public let client: ClientInfo

    /// Creates a caller.
    public init(_ session: String, principal: Principal? = nil, client: ClientInfo = ClientInfo()) {
        (self.session, self.principal, self.client) = (session, principal, client)
    }
}

extension TestStore {
    /// Returns the sender that turns of a caller's intents have.
    public func sender(_ caller: TestCaller) -> Sender {
        world?.sender(caller) ?? Sender(id: "", session: caller.session, subject: caller.principal?.identity)
    }

    /// Returns the view states that callers see, by their audiences.
    ///
    /// ```swift
    /// #expect(store.views(of: ann, bob).map(\.place) == [1, 2])
    /// ```
    public func views(of callers: TestCaller...) -> [F.ViewState] {
        callers.map { feature.view(state, for: feature.audience(of: viewer($0))) }
    }

    func viewer(_ caller: TestCaller) -> Viewer {
        Viewer(
            principal: caller.principal, sender: sender(caller), locale: caller.client.locale,
            timeZone: caller.client.timeZone)
    }

    /// Sends an intent as a client of a shared store does. See ``send(_:as:sourceLocation:_:)-(_,Principal?,_,_)``.
    @discardableResult
    public func send(
        _ intent: F.Intent, as caller: TestCaller, sourceLocation: SourceLocation = #_sourceLocation,
        _ change: ((inout F.State) throws -> Void)? = nil
    ) async -> IntentOutcome? {
        await send(intent, by: world?.client(caller), sourceLocation, change)
    }

    /// Has exactly these clients look at a shared store: turns have them as ``/MVI/Turn/viewers``, and the feature's
    /// ``/MVI/Feature/viewersChanged(_:)`` follows at once.
    ///
    /// ```swift
    /// await store.look(ann, bob)
    /// await store.receive(action: .crowd(2))
    /// ```
    public func look(_ callers: TestCaller..., sourceLocation: SourceLocation = #_sourceLocation) async {
        await settle(sourceLocation)
        await world?.look(callers, at: id)
        await settle(sourceLocation)
    }

    /// Has the store forget the person of a client, as a deletion of the person's data does. See
    /// ``/MVI/Feature/forgetting(_:)``, which may have no action for it.
    public func forget(_ caller: TestCaller, sourceLocation: SourceLocation = #_sourceLocation) async {
        let subject = caller.principal?.identity ?? Subject(issuer: "", id: caller.session)
        let person = ForgottenPerson(subject: subject, senders: [sender(caller).id])
        guard let action = F.forgetting(person) else { return }
        await perform(action, sourceLocation: sourceLocation)
    }

    /// Sends an intent of a client of a shared store that must be refused or throw. See
    /// ``sendRejected(_:_:code:pointers:as:sourceLocation:)-(_,_,_,_,Principal?,_)``.
    @discardableResult
    public func sendRejected(
        _ intent: F.Intent, _ kind: Refusal.Kind? = nil, code: String? = nil, pointers: [String]? = nil,
        as caller: TestCaller, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> StoreError? {
        await sendRejected(intent, kind, code, pointers, by: world?.client(caller), sourceLocation)
    }
}
