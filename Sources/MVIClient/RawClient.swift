import Locking

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A client without the app's types, for the driver of the conformance kit.
package final class RawClient: Sendable {
    /// An event, with received JSON unchanged.
    package enum Event: Sendable {
        case state(feature: String, version: UInt64, state: [UInt8])
        case label(feature: String, id: String, isReplay: Bool, label: [UInt8])
        case ended(feature: String)
        case denied(feature: String)
        case reset(reason: String, labelsLost: Bool)
        case condition(Condition)
        case abandoned(feature: String, intent: String)
    }

    private let core: ClientCore
    private let number: UInt64
    private let told: @Sendable (Event) -> Void
    private let features = Lock<[String]>([])

    /// - Parameters:
    ///   - usesCookie: true if the session's credential is a cookie, as in a browser, instead of a token.
    ///   - told: called with each event, one call at a time, from any thread.
    package init(
        _ url: URL, options: RemoteServer.Options, usesCookie: Bool, told: @escaping @Sendable (Event) -> Void
    ) {
        var settings = ConnectionSettings(options)
        settings.credential = usesCookie ? .cookie : .bearer
        core = ClientCore(
            settings: settings, transport: URLSessionTransport(base: url), time: Timekeeper(ContinuousClock()),
            storage: options.credentials, identity: options.identity, random: { Double.random(in: 0...1) },
            report: options.report, pendingStorage: options.pendingStorage,
            abandoned: { intent, _ in told(.abandoned(feature: intent.feature, intent: intent.intent)) })
        number = core.number()
        self.told = told
        core.listen(number) { told(.condition($0)) }
    }

    package func watch(_ feature: String) {
        let (told, features) = (told, features)
        features.withLock { $0.append(feature) }
        core.watch(
            feature, by: number,
            ClientCore.Sink(
                deliver: { delivery in
                    switch delivery {
                    case .state(let version, _, let state):
                        told(.state(feature: feature, version: version, state: state))
                    case .label(let label):
                        told(.label(feature: feature, id: label.id, isReplay: label.isReplay, label: label.label))
                    case .forgotten: break
                    case .ended: told(.ended(feature: feature))
                    case .denied, .missing: told(.denied(feature: feature))
                    case .reset(let reason, let labelsLost):
                        // Each watched store receives the event; here it is reported once.
                        guard features.withLock({ $0.min() }) == feature else { return }
                        told(.reset(reason: reason, labelsLost: labelsLost))
                    }
                }, finish: {}))
    }

    package func unwatch(_ feature: String) {
        features.withLock { $0.removeAll { $0 == feature } }
        core.unwatch(feature, by: number)
    }

    /// Sends an intent. `done` is called once.
    package func send(
        _ intent: [UInt8], to feature: String, done: @escaping @Sendable (Result<IntentReceipt, any Error>) -> Void
    ) {
        core.send(intent, to: feature, key: UUID().uuidString.lowercased(), completion: .committed, done: done)
    }

    package func setOnline(_ isOnline: Bool) { core.handle(.online(isOnline)) }
    package func foreground() { core.handle(.foreground) }
    package func close() { core.close() }
}
