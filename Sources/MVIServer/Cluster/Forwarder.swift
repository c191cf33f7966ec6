import Locking
import Logging
import MVI
import MicroHTTP
import SessionJournal
import Sessions

/// Has requests served by the node that runs their session's turns, when the session says that it is another one.
///
/// An owner that is going or gone is waited for a while: the session comes to this node, or to another one.
final class Forwarder: Sendable {
    /// The time for which a request is retried after an owner was unreachable or is no longer the owner.
    static let patience: Duration = .seconds(5)
    /// The time limit of an owner's answer, beside the client's wait.
    static let answerTime: Duration = .seconds(8)
    /// Between two tries: at first, and at most. Half of it is left to chance, so that nodes do not meet again.
    private static let pauses: (first: Duration, longest: Duration) = (.milliseconds(50), .seconds(1))

    private let link: NodeLink
    private let addresses: ClientAddress
    private let owner: @Sendable (Session) -> NodeRecord?
    private let clock: any Clock<Duration>
    private let executor: (any TaskExecutor)?
    private let longestAnswer: Int
    private let metrics: ForwardMetrics
    private let logger: Logger?

    /// - Parameters:
    ///   - owner: which other node runs a session's turns.
    ///   - longestAnswer: bytes of an owner's answer.
    init(
        _ link: NodeLink, _ addresses: ClientAddress, owner: @escaping @Sendable (Session) -> NodeRecord?,
        clock: any Clock<Duration>, executor: (any TaskExecutor)? = nil, longestAnswer: Int,
        metrics: ForwardMetrics = ForwardMetrics(), logger: Logger? = nil
    ) {
        (self.link, self.addresses, self.owner, self.clock) = (link, addresses, owner, clock)
        (self.executor, self.longestAnswer, self.metrics, self.logger) = (executor, longestAnswer, metrics, logger)
    }

    /// Tries to answer a request here. Calls its parameter once: with false, and answers nothing, if another node has to.
    typealias Attempt = @Sendable (_ done: @escaping @Sendable (_ isAnswered: Bool) -> Void) -> Void

    /// Returns the session for the forwarder.
    func session(_ session: Session) -> ForwardedSession { ForwardedSession(session, owner: owner) }

    /// Has a request answered that another node has to serve: by that node, or here, if the session comes here meanwhile.
    ///
    /// - Parameter again: tries to serve it here.
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

    /// Has stores made that only the session's owner can make, then goes on here.
    ///
    /// - Parameters:
    ///   - incoming: whose client is to have them.
    ///   - again: goes on, if it can.
    ///   - refuse: called instead of that, with why they cannot be had.
    func makeStores(
        _ features: [FeatureID], _ incoming: Incoming, _ session: ForwardedSession,
        again: @escaping Attempt, refuse: @escaping @Sendable (Refusal) -> Void
    ) {
        if let problem = Self.refusal(of: incoming) { return refuse(.problem(problem)) }
        Task(executorPreference: executor) { [self] in
            let problem = await settle(session, again) { owner in
                for feature in features {
                    switch await read(feature, incoming, owner) {
                    case .answer(let response) where response.status == 200: break
                    case .answer(let response):
                        refuse(.relayed(response))
                        return .answered
                    // Reading again does no harm.
                    case .moved, .lost: return .moved
                    }
                }
                return .made
            }
            if let problem { refuse(.problem(problem)) }
        }
    }

    /// The reason for which stores are unavailable.
    enum Refusal: Sendable {
        case problem(Problem)
        /// The owner's answer.
        case relayed(Response)
    }

    /// A request that another node sent is not sent on: two nodes that each take the other for the owner would do so for ever.
    private static func refusal(of incoming: Incoming) -> Problem? {
        switch incoming.sender {
        case .client: nil
        case .node: Problem(.misdirected, "This node does not own the session.")
        case .unproven: unreachable
        }
    }

    // MARK: Trying

    /// The result of asking an owner.
    private enum Step {
        case answered
        /// The missing store exists now.
        case made
        /// It did nothing: it is not the owner any more, or cannot be reached.
        case moved
        /// It may have served the request, which can be repeated.
        case lost
        /// It may have served the request, which cannot be repeated.
        case unknown
    }

    /// Asks the owner, then tries it here, until one of both has answered; else returns the problem to answer with.
    private func settle(
        _ session: ForwardedSession, _ again: @escaping Attempt, ask: (NodeRecord) async -> Step
    ) async -> Problem? {
        var watch = Stopwatch(clock)
        var pause = Self.pauses.first
        var losses = 0
        var isFirst = true
        while true {
            var step = Step.moved
            if let owner = session.owner(), owner.id != link.node { step = await ask(owner) }
            switch step {
            case .answered: return nil
            case .made, .moved: break
            case .lost:
                losses += 1
                guard losses < 2 else { return Self.unknown }
                // The answer was waited for longer than this.
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
        .ownerUnreachable, "The session's work is on its way to another server; the request was not served.",
        retryAfter: .seconds(2))
    private static let unknown = Problem(
        .journalUnavailable,
        "The server that runs the session's work did not answer; it is not known whether the request was served.",
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
        // One that is stopping may have begun it.
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
                "A node cannot be reached", metadata: ["address": "\(owner.address)", "error": "\(error)"])
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
