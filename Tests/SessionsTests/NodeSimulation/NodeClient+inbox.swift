import EventStream
import Locking
import MVI
import SessionJournal
import Sessions

@testable import Sessions

extension NodeClient {
    /// Whether all that a node asked of the journal was answered since then.
    struct Trust {
        let way: NodeWay
        let troubles: Int

        init(_ way: NodeWay) { (self.way, troubles) = (way, way.troubles) }

        var holds: Bool { way.troubles == troubles && !way.isCut }
    }

    enum Item: Sendable {
        case answer(number: Int, tries: Int, Result<IntentOutcome?, StoreError>)
        case state(FeatureID, floor: UInt64, Result<IntentOutcome?, StoreError>, Box<Bool>)
        case stream(TestStream?, opening: Int)
    }

    /// What comes back, until the client looks.
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
