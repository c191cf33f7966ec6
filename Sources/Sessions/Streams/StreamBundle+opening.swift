import EventStream
import Locking
import MVI
import SessionJournal
import WireJSON

extension StreamBundle {
    /// The time for which a stream waits for its parts. One that is later joins it.
    static let patience: Duration = .seconds(1)

    /// Opens a part in its space. Calls `done` once; with false, and without a part, if the space's owner has to make
    /// stores first.
    package typealias Attempt =
        @Sendable (_ space: Session, _ done: @escaping @Sendable (_ isOpen: Bool) -> Void) -> Void

    /// A space that a stream shows.
    package struct Named: Sendable {
        package let space: SpaceName
        package let features: [FeatureID]
        let find: @Sendable (_ open: @escaping Attempt, _ refuse: @escaping @Sendable (StoreError) -> Void) -> Void

        /// - Parameter find: looks the space up and calls `open`, again when what was missing is made. Calls `refuse` if
        ///   that fails.
        package init(
            _ space: SpaceName, _ features: [FeatureID],
            find:
                @escaping @Sendable (
                    _ open: @escaping Attempt, _ refuse: @escaping @Sendable (StoreError) -> Void
                ) -> Void
        ) {
            (self.space, self.features, self.find) = (space, features, find)
        }
    }

    /// Opens the parts, each as `Session.openStream` does: first that of the client's session, then those of spaces at the
    /// same time. A space whose features the client may not read is left out, which the stream tells; any other failure
    /// of a part is that of the stream.
    ///
    /// A part that is not open after `patience` joins later. If it fails then, it is tried again, or the stream ends and
    /// the client is told the reason at its next try.
    ///
    /// - Parameters:
    ///   - features: those of the client's own session, which may be none.
    ///   - denied: features of further spaces that the client may not read.
    ///   - withoutRoom: features of spaces beyond those that a stream may show.
    ///   - place: held as long as the stream exists.
    package static func open(
        _ session: Session, _ features: [FeatureID], _ spaces: [Named], denied: [FeatureID] = [],
        withoutRoom: [FeatureID] = [], from start: StreamStart, delta: DeltaForm? = nil,
        for client: SessionClient, holding place: (any AnyObject & Sendable)? = nil,
        completion: @escaping @Sendable (Result<StreamBundle, StoreError>) -> Void
    ) {
        session.openStream(
            .features(features), from: start, delta: delta, isPart: true, for: client, holding: place
        ) { result in
            switch result {
            case .failure(let error): completion(.failure(error))
            case .success(let own):
                BundleOpening(own, spaces, denied, withoutRoom, start, delta, client.in(session), completion).begin()
            }
        }
    }
}

/// The parts of a stream that have opened so far.
private final class BundleOpening: Sendable {
    private typealias Result = Swift.Result<StreamBundle.Part, StoreError>

    private enum State {
        case waiting([Result?])
        /// The places of the late parts among all.
        case open(StreamBundle, late: [Int])
        case failed
    }

    private let own: SessionStream
    private let spaces: [StreamBundle.Named]
    private let denied: [FeatureID]
    private let withoutRoom: [FeatureID]
    private let start: StreamStart
    private let delta: DeltaForm?
    private let client: SessionClient
    private let completion: @Sendable (Swift.Result<StreamBundle, StoreError>) -> Void
    private let state: Lock<State>

    init(
        _ own: SessionStream, _ spaces: [StreamBundle.Named], _ denied: [FeatureID], _ withoutRoom: [FeatureID],
        _ start: StreamStart, _ delta: DeltaForm?, _ client: SessionClient,
        _ completion: @escaping @Sendable (Swift.Result<StreamBundle, StoreError>) -> Void
    ) {
        (self.own, self.spaces, self.denied, self.withoutRoom) = (own, spaces, denied, withoutRoom)
        (self.start, self.delta, self.client, self.completion) = (start, delta, client, completion)
        state = Lock(.waiting(Array(repeating: nil, count: spaces.count)))
    }

    func begin() {
        for index in spaces.indices { open(index, tries: 1) }
        let isWaiting = state.withLock { if case .waiting = $0 { true } else { false } }
        guard isWaiting else { return }
        if spaces.isEmpty { return show() }
        own.session.shared.after(StreamBundle.patience) { [weak self] in self?.show() }
    }

    private func open(_ index: Int, tries: Int) {
        let named = spaces[index]
        named.find(
            { [self] space, done in
                space.open(named, client, start, own.beginning.epoch, delta) { [self] result in
                    if case .failure(let error) = result, error.code == .elsewhere { return done(false) }
                    opened(index, result.map { space.part($0, named, start, own.beginning.epoch) }, tries: tries)
                    done(true)
                }
            }, { [self] in opened(index, .failure($0), tries: tries) })
    }

    private func opened(_ index: Int, _ result: Result, tries: Int) {
        let (isComplete, begun) = state.withLock { state -> (Bool, State?) in
            guard case .waiting(var results) = state else { return (false, state) }
            results[index] = result
            state = .waiting(results)
            return (!results.contains { $0 == nil }, nil)
        }
        if isComplete { return show() }
        switch begun {
        case nil: break
        case .open(let bundle, let late)?:
            if let place = late.firstIndex(of: index) { join(bundle, result, index, at: place, tries: tries) }
        case _?: if case .success(let part) = result { part.stream.closed() }
        }
    }

    /// Adds a late part to the stream, or tries again to open it.
    private func join(_ bundle: StreamBundle, _ result: Result, _ index: Int, at place: Int, tries: Int) {
        switch result {
        case .success(let part): bundle.join(part, at: place)
        case .failure(let refusal) where refusal.code == .forbidden: bundle.deny(at: place)
        case .failure(let error) where error.retryAfter != nil || [.elsewhere, .unavailable].contains(error.code):
            own.session.shared.after(.seconds(min(tries, 10))) { [self] in
                if !bundle.isClosed { open(index, tries: tries + 1) }
            }
        case .failure: bundle.goAway(.busy)
        }
    }

    /// Begins the stream with the parts that are open.
    private func show() {
        let results = state.withLock { state -> [Result?]? in
            guard case .waiting(let results) = state else { return nil }
            state = begun(results)
            return results
        }
        guard let results else { return }
        if case .open(let bundle, _) = state.withLock({ $0 }) { return completion(.success(bundle)) }
        for case .success(let part)? in results { part.stream.closed() }
        own.closed()
        let errors = results.compactMap { if case .failure(let error)? = $0 { error } else { nil } }
        completion(.failure(errors.first { $0.code != .forbidden } ?? errors.first ?? .sessionEnded))
    }

    private func begun(_ results: [Result?]) -> State {
        var (parts, late, places): ([StreamBundle.Part], [StreamBundle.LatePart], [Int]) = ([], [], [])
        var denied = denied
        for (index, result) in results.enumerated() {
            switch result {
            case .success(let part)?: parts.append(part)
            case .failure(let refusal)? where refusal.code == .forbidden: denied += spaces[index].features
            case .failure?: return .failed
            case nil:
                let received = start.part(of: spaces[index].space, own.beginning.epoch)
                late.append(StreamBundle.LatePart(features: spaces[index].features, received: received))
                places.append(index)
            }
        }
        // As a stream of one session does that may show none of the features it names.
        if parts.isEmpty, late.isEmpty, own.filter == .features([]), !results.isEmpty { return .failed }
        return .open(StreamBundle(own, parts, late: late, denied: denied, withoutRoom: withoutRoom), late: places)
    }
}

extension StreamStart {
    /// A space's part of a cursor, as it stands there.
    fileprivate func part(of space: SpaceName, _ ownEpoch: String) -> [UInt8]? {
        guard case .cursor(let text) = self, let part = BundleCursor(text, of: ownEpoch)[space] else { return nil }
        return Array("~\(BundleCursor.name(space))\(part.check).\(part.number)".utf8)
    }
}

extension Session {
    /// Opens the part of a bundle that shows this space.
    fileprivate func open(
        _ named: StreamBundle.Named, _ client: SessionClient, _ start: StreamStart, _ ownEpoch: String,
        _ delta: DeltaForm?, completion: @escaping @Sendable (Result<SessionStream, StoreError>) -> Void
    ) {
        guard let space else { preconditionFailure("a session that is no space has no part in a bundle") }
        var begin = StreamStart.now
        switch start {
        case .cursor(let text):
            let part = BundleCursor(text, of: ownEpoch)[space]
            begin = part.map { .part($0, of: reader(named, client)) } ?? .now
        // A space does not know what a rule kept from its client.
        case .earliest: begin = isJudged(named) ? .now : .earliest
        case .unspecified, .now, .part: break
        }
        openStream(
            .features(named.features), from: begin, delta: delta, isPart: true, for: client, completion: completion)
    }

    /// The reader by whose identity the named features are judged.
    private func reader(_ named: StreamBundle.Named, _ client: SessionClient) -> SpaceReader {
        SpaceReader(isJudged(named) ? client.principal : nil)
    }

    private func isJudged(_ named: StreamBundle.Named) -> Bool {
        named.features.contains { shared.features.definition(for: $0)?.spaces?.isForEveryone == false }
    }

    fileprivate func part(
        _ stream: SessionStream, _ named: StreamBundle.Named, _ start: StreamStart, _ ownEpoch: String
    ) -> StreamBundle.Part {
        guard let space else { preconditionFailure("a session that is no space has no part in a bundle") }
        let received = stream.beginning.isResumed ? nil : start.part(of: space, ownEpoch)
        return StreamBundle.Part(
            stream: stream,
            name: Array(
                "~\(BundleCursor.name(space))\(reader(named, stream.client).check(of: stream.beginning.epoch)).".utf8),
            received: received)
    }
}
