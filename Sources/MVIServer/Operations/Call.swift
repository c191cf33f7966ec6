/// A request whose head was found good: what is left to do when its body is there.
///
/// A class, since it travels through the HTTP layer as `any Sendable` and comes back by a cast, which is quick to a
/// final class.
final class Call: Sendable {
    /// Answers, now or later, on any thread.
    typealias Answer = @Sendable (_ body: [UInt8], _ reply: Reply) -> Void

    let terms: Reply.Terms
    let answer: Answer

    init(terms: Reply.Terms, answer: @escaping Answer) {
        self.terms = terms
        self.answer = answer
    }
}
