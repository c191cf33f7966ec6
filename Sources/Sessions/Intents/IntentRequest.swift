import Crypto
import MVI
import SessionJournal
import Tracing
import WireJSON

/// What a client asks for with an intent.
package struct IntentRequest: Sendable {
    /// What makes a request the same as another.
    package enum Name: Sendable, Hashable {
        /// `Idempotency-Key`.
        case key(String)
        /// `Intent-Seq` inside `Intent-Epoch`: this one comes after all that have a smaller number.
        case sequence(UInt64, epoch: String)
    }

    /// The JSON object.
    package var body: [UInt8]
    /// Names the request, so that a repetition does not run again.
    package var name: Name?
    /// Asked with the store's version when the intent is about to run; false refuses it.
    package var ifMatch: (@Sendable (_ version: UInt64) -> Bool)?
    /// How long to wait for the work that the intent launches; nil not to. Capped by the limits.
    package var wait: Duration?
    /// Whether the outcome is to have the view state.
    package var wantsState: Bool
    /// The client that sends it.
    package var client: SessionClient
    /// The span that it came in; nil where nothing is traced.
    package var trace: ServiceContext?

    /// A request with a body.
    package init(
        body: [UInt8], name: Name? = nil, ifMatch: (@Sendable (UInt64) -> Bool)? = nil, wait: Duration? = nil,
        wantsState: Bool = true, client: SessionClient = SessionClient(), trace: ServiceContext? = nil
    ) {
        (self.client, self.trace) = (client, trace)
        (self.body, self.name, self.ifMatch, self.wait, self.wantsState) = (body, name, ifMatch, wait, wantsState)
    }

    /// Throws if the client believes something else of the state. Nil is a version that no client can know.
    func check(version: UInt64?) throws(StoreError) {
        if let version, let ifMatch, !ifMatch(version) {
            throw StoreError(.preconditionFailed, "The state has none of the versions that were asked for.")
        }
    }

    /// Refuses a body that is no intent. Order of checks: what the client believes of the state comes before what it asks
    /// for.
    func refuse(_ fault: WireDecodingError, version: UInt64?) throws(StoreError) -> Never {
        if case .mismatch = fault { try check(version: version) }
        throw StoreError(fault)
    }

    /// Its name as the receipt will have it, with a hash that tells a repetition from another request. A number is good
    /// for all features of a session, so there the feature counts.
    func receipt(_ feature: FeatureID) -> ReceiptName? {
        switch name {
        case nil: return nil
        case .key(let key)?:
            return ReceiptName(
                key: .key(client.scoped(key), feature: feature), bodyHash: Array(SHA256.hash(data: body)))
        case .sequence(let number, let epoch)?:
            var hash = SHA256()
            hash.update(data: Array((feature.text + "\n").utf8))
            hash.update(data: body)
            return ReceiptName(
                key: .sequence(number, epoch: client.scoped(epoch)), bodyHash: Array(hash.finalize()))
        }
    }
}

/// What a request with an intent led to, or why it led to nothing.
package typealias IntentResult = Result<IntentOutcome, StoreError>
