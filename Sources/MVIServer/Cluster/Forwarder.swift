import Locking
import Logging
import MVI
import MicroHTTP
import SessionJournal
import Sessions

/// Forwards requests to the node that owns their session, if that is another one.
///
/// If the owner is not reachable or has changed, the forwarder retries for a while: the session moves to this or
/// another node.
final class Forwarder: Sendable {
    /// The time for retries after an owner was not reachable or has changed.
    static let patience: Duration = .seconds(5)
    /// The time for an owner's answer, in addition to the client's wait.
    static let answerTime: Duration = .seconds(8)
    /// The first and the longest pause between two tries. Half of a pause is random, so that nodes do not retry at the
    /// same time.
    private static let pauses: (first: Duration, longest: Duration) = (.milliseconds(50), .seconds(1))

    private let link: NodeLink
    private let addresses: ClientAddress
    private let clock: any Clock<Duration>
    private let executor: (any TaskExecutor)?
    private let longestAnswer: Int
    private let metrics: ForwardMetrics
    private let logger: Logger?

    /// - Parameters:
    ///   - longestAnswer: the maximal size of an owner's answer.
    init(
        _ link: NodeLink, _ addresses: ClientAddress, clock: any Clock<Duration>,
        executor: (any TaskExecutor)? = nil, longestAnswer: Int,
        metrics: ForwardMetrics = ForwardMetrics(), logger: Logger? = nil
    ) {
        (self.link, self.addresses, self.clock) = (link, addresses, clock)
        (self.executor, self.longestAnswer, self.metrics, self.logger) = (executor, longestAnswer, metrics, logger)
    }

    /// Tries to answer a request here. Calls `done` once; with false, and without an answer, if another node has to
    /// answer.
    typealias Attempt = @Sendable (_ done: @escaping @Sendable (_ isAnswered: Bool) -> Void) -> Void

    /// Forwards a request to the session's owner, or answers it here if the session moves here meanwhile.
    ///
    /// - Parameter again: tries to answer it here.
    func forward(_ request: ForwardedRequest, again: @escaping Attempt) {
        let reply = request.reply
        if let problem = Self.refusal(of: request.incoming) { return reply.refuse(problem) }
        Task(executorPreference: executor) { [self] in
            let problem = await settle(request.session, again) { owner in
                switch await send(request, to: owner) {
                case .answer(let response):
                    reply.answer(response)
                    return .answered
                case .moved: return .moved
                case .lost: return request.isRepeatable ? .lost : .unknown
                }
            }
            if let problem { reply.refuse(problem) }
        }
    }

    /// Has the session's owner make stores, then continues here.
    ///
    /// - Parameters:
    ///   - incoming: the request that needs the stores.
    ///   - withoutRoom: receives those for which the session has no room; nil if that is a reason to refuse.
    ///   - again: continues the request if it can.
    ///   - refuse: called with the reason if the stores cannot be made.
    func makeStores(
        _ features: [FeatureID], _ incoming: Incoming, _ session: ForwardedSession,
        withoutRoom: Lock<[FeatureID]>? = nil, again: @escaping Attempt, refuse: @escaping @Sendable (Refusal) -> Void
    ) {
        if let problem = Self.refusal(of: incoming) { return refuse(.problem(problem)) }
        Task(executorPreference: executor) { [self] in
            let problem = await settle(session, again) { owner in
                for feature in features {
                    switch await read(feature, incoming, owner) {
                    case .answer(let response) where response.status == 200: break
                    case .answer(let response)
                    where withoutRoom != nil && response.problemName == ProblemType.tooManyStores.name:
                        withoutRoom?.withLock { $0.append(feature) }
                    case .answer(let response):
                        refuse(.relayed(response))
                        return .answered
                    // Reading again is harmless.
                    case .moved, .lost: return .moved
                    }
                }
                return .made
            }
            if let problem { refuse(.problem(problem)) }
        }
    }

    /// The reason for which stores cannot be made.
    enum Refusal: Sendable {
        case problem(Problem)
        /// The owner's answer.
        case relayed(Response)
    }

    /// The problem for a request that another node forwarded. It is not forwarded again: two nodes with different views
    /// of the owner would form a loop.
    private static func refusal(of incoming: Incoming) -> Problem? {
        switch incoming.sender {
        case .client: nil
        case .node: Problem(.misdirected, "This node does not own the session.")
        case .unproven: unreachable
        }
    }

    // MARK: Trying

    /// The result of a request to an owner.
    private enum Step {
        case answered
        /// The store exists now.
        case made
        /// The node did not serve the request: it is not the owner, or not reachable.
        case moved
        /// The request may have been served, and can be repeated.
        case lost
        /// The request may have been served, and cannot be repeated.
        case unknown
    }

    /// Tries the owner and this node in turn until one answers. Otherwise returns the problem to answer with.
    private func settle(
        _ session: ForwardedSession, _ again: @escaping Attempt, ask: (NodeRecord) async -> Step
    ) async -> Problem? {
        var watch = Stopwatch(clock)
        var pause = Self.pauses.first
        var losses = 0
        var isFirst = true
        while true {
            var step = Step.moved
            if let owner = session.owner(), !link.isOwn(owner.id) { step = await ask(owner) }
            switch step {
            case .answered: return nil
            case .made, .moved: break
            case .lost:
                losses += 1
                guard losses < 2 else { return Self.unknown }
                // The time of a long wait for an answer does not count.
                watch = Stopwatch(clock)
            case .unknown: return Self.unknown
            }
            if case .made = step, isFirst {
                isFirst = false
            } else {
                let next = pause / 2 + pause / 2 * Double.random(in: 0...1)
                guard watch.elapsed() + next <= Self.patience, (try? await clock.sleep(for: next)) != nil else {
                    return losses > 0 ? Self.unknown : Self.unreachable
                }
                pause = min(pause * 2, Self.pauses.longest)
            }
            await session.catchUp()
            if await awaitResult(again) { return nil }
        }
    }

    static let unreachable = Problem(
        .ownerUnreachable, "The session is moving to another server; the request was not served.",
        retryAfter: .seconds(2))
    private static let unknown = Problem(
        .journalUnavailable,
        "The session's server did not answer; it is unknown whether the request was served.",
        retryAfter: .seconds(2))

    // MARK: Asking

    private enum Answer {
        case answer(Response)
        case moved
        case lost
    }

    private func send(_ request: ForwardedRequest, to owner: NodeRecord) async -> Answer {
        let answer = await ask(
            owner, request.incoming,
            PeerRequest(
                method: request.method.rawValue, target: request.target,
                fields: ForwardedFields.select(ForwardedFields.all, from: request.incoming.fields), body: request.body,
                timeout: Self.answerTime + request.wait, longestAnswer: longestAnswer))
        // A node that is stopping may have begun to serve the request.
        if case .answer(let response) = answer, request.isRepeatable, response.status == 503,
            response.problemName == ProblemType.draining.name
        {
            return .lost
        }
        return answer
    }

    /// Has a store made by reading its state.
    private func read(_ feature: FeatureID, _ incoming: Incoming, _ owner: NodeRecord) async -> Answer {
        await ask(
            owner, incoming,
            PeerRequest(
                method: Route.Method.get.rawValue, target: ForwardedRequest.target(feature, .state),
                fields: ForwardedFields.select(ForwardedFields.ofCaller, from: incoming.fields),
                timeout: Self.answerTime, longestAnswer: longestAnswer))
    }

    private func ask(_ owner: NodeRecord, _ incoming: Incoming, _ request: PeerRequest) async -> Answer {
        do throws(PeerError) {
            let answer = try await link.client.send(
                request, for: addresses.of(incoming.head),
                unsealed: ForwardedFields.select(ForwardedFields.ofTrace, from: incoming.fields), to: owner)
            guard answer.status != ProblemType.misdirected.status else {
                metrics.refused.increment()
                return .moved
            }
            guard let response = Response(relaying: answer) else {
                metrics.unanswered.increment()
                return .lost
            }
            metrics.answered.increment()
            return .answer(response)
        } catch {
            logger?.debug(
                "A node is not reachable", metadata: ["address": "\(owner.address)", "error": "\(error)"])
            switch error.outcome {
            case .notSent:
                metrics.unreachable.increment()
                return .moved
            case .unknown:
                metrics.unanswered.increment()
                return .lost
            }
        }
    }
}
