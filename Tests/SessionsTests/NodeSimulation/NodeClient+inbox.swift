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
        /// The state that the request requires.
        var ifMatch: (epoch: String, version: UInt64)?
        /// The number of tries; answers to earlier tries are ignored.
        var tries = 0
        /// The time of the last try; nil if none is running.
        var sent: Duration?
        /// The known version of the session at the last try.
        var floor: UInt64 = 0
        var trust: [Trust] = []
    }

    /// True if all requests to the journal have been answered since then.
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
}
