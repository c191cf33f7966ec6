import EventStream
import Locking
import MVI
import SessionJournal
import Sessions

@testable import Sessions

extension NodeClient {
    struct Request {
        let number: Int
        let feature: FeatureID
        let body: String
        let name: IntentRequest.Name?
        /// The condition on the state.
        var ifMatch: (epoch: String, version: UInt64)?
        /// Counts how often it was sent; an answer to an earlier try is not heard.
        var tries = 0
        /// The time of the last try; nil if none is in progress.
        var sent: Duration?
        /// The session's known version at the last try.
        var floor: UInt64 = 0
        var trust: Trust?
    }

    /// True if all that a node asked of the journal was answered since then.
    struct Trust: Sendable {
        let way: NodeWay
        let troubles: Int

        init(_ way: NodeWay) { (self.way, troubles) = (way, way.troubles) }

        var holds: Bool { way.troubles == troubles && !way.isCut }
    }

    enum Item: Sendable {
        case answer(number: Int, tries: Int, NodeAnswer)
        case state(FeatureID, floor: UInt64, NodeAnswer, Box<Bool>)
        case stream(TestStream?, opening: Int)
    }

    /// The answers that the client has not read.
    final class Inbox: Sendable {
        private let items = Lock<[Item]>([])

        func put(_ item: Item) { items.withLock { $0.append(item) } }

        func take() -> [Item] {
            items.withLock { items in
                defer { items = [] }
                return items
            }
        }
    }
}
