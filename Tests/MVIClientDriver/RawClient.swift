import Locking
@testable import MVIClient
import WireJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A client without the app's types, for the driver of the conformance kit.
final class RawClient: Sendable {
    /// An event, with received JSON unchanged.
    enum Event: Sendable {
        case state(feature: String, version: UInt64, state: [UInt8])
        case label(feature: String, id: String, isReplay: Bool, label: [UInt8])
        /// A label that waited for its reader.
        case readLabel(feature: String, label: [UInt8])
        case presence(feature: String, StorePresence?)
        case ended(feature: String)
        case denied(feature: String)
        case reset(reason: String, labelsLost: Bool)
        case condition(Condition)
        case abandoned(feature: String, intent: String)
    }

    /// A store whose labels wait for a reader, as an app's.
    private struct UnreadStore {
        let feed: StoreFeed<JSONText, Never, JSONText>
        /// Watches it.
        let states: AsyncStream<JSONText>
    }

    private let server: RemoteServer
    private var core: ClientCore { server.core }
    private let number: UInt64
    private let told: @Sendable (Event) -> Void
    private let features = Lock<[String]>([])
    private let stores = Lock<[String: UnreadStore]>([:])

    /// - Parameters:
    ///   - usesCookie: true if the session's credential is a cookie, as in a browser, instead of a token.
    ///   - told: called with each event from any thread; two calls overlap only for a ``Event/readLabel(feature:label:)``.
    init(
        _ url: URL, options: RemoteServer.Options, usesCookie: Bool, told: @escaping @Sendable (Event) -> Void
    ) {
        var settings = ConnectionSettings(options)
        settings.credential = usesCookie ? .cookie : .bearer
        var options = options
        options.network = .always
        options.onAbandoned = { intent, _ in told(.abandoned(feature: intent.feature, intent: intent.intent)) }
        server = RemoteServer(
            options: options, settings: settings, transport: URLSessionTransport(base: url),
            time: Timekeeper(ContinuousClock()), random: { Double.random(in: 0...1) })
        number = server.core.number()
        self.told = told
        core.listen(number) { told(.condition($0)) }
    }

    /// - Parameter readsLabels: false if labels wait for ``read(_:)``.
    func watch(_ feature: String, readsLabels: Bool = true) {
        let (told, features) = (told, features)
        features.withLock { $0.append(feature) }
        // The first label may come at once.
        if !readsLabels { watchUnread(feature) }
        core.watch(
            feature, by: number,
            ClientCore.Sink(
                deliver: { delivery in
                    switch delivery {
                    case .state(let version, _, let state):
                        told(.state(feature: feature, version: version, state: state))
                    case .label(let label):
                        guard readsLabels else { return }
                        told(.label(feature: feature, id: label.id, isReplay: label.isReplay, label: label.label))
                    case .presence(let presence): told(.presence(feature: feature, presence))
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

    private func watchUnread(_ feature: String) {
        let feed = StoreFeed<JSONText, Never, JSONText>(
            feature: feature, core: core, predict: nil, report: server.report, outdated: server.outdated)
        let store = UnreadStore(feed: feed, states: feed.states(keeping: server))
        stores.withLock { $0[feature] = store }
    }

    /// Delivers the labels of a feature that wait, and later ones.
    func read(_ feature: String) {
        guard let store = stores.withLock({ $0[feature] }) else { return }
        Task { [told, labels = store.feed.labels(keeping: server)] in
            for await label in labels { told(.readLabel(feature: feature, label: label.bytes)) }
        }
    }

    func unwatch(_ feature: String) {
        features.withLock { $0.removeAll { $0 == feature } }
        _ = stores.withLock { $0.removeValue(forKey: feature) }
        core.unwatch(feature, by: number)
    }

    /// Sends an intent. `done` is called once.
    func send(
        _ intent: [UInt8], to feature: String, done: @escaping @Sendable (Result<IntentReceipt, any Error>) -> Void
    ) {
        core.send(intent, to: feature, key: UUID().uuidString.lowercased(), completion: .committed, done: done)
    }

    func setOnline(_ isOnline: Bool) { core.handle(.online(isOnline)) }
    func foreground() { core.handle(.foreground) }
    func close() { core.close() }
}
