import Testing
import WireJSON

@testable import MVIServer

@Suite struct JSONObjectTests {
    @Test(arguments: [0, 1, 9, 10, 99, 100, 1_000_000_007, .max, -1, -10, .min])
    func `A number is written with all its digits and no others`(number: Int) {
        var object = JSONObject()
        object.add("n", number)
        object.add("u", UInt64(number.magnitude))
        #expect(String(decoding: object.close(), as: UTF8.self) == "{\"n\":\(number),\"u\":\(number.magnitude)}")
    }

    @Test func `The largest number has twenty digits`() {
        var object = JSONObject()
        object.add("n", UInt64.max)
        #expect(String(decoding: object.close(), as: UTF8.self) == "{\"n\":18446744073709551615}")
    }

    @Test func `Members are put in order, and an object may have none`() {
        var object = JSONObject()
        object.add("text", "a\"b")
        object.add("flag", true)
        object.add("list", array: [Array("1".utf8), Array("2".utf8)])
        #expect(String(decoding: object.close(), as: UTF8.self) == #"{"text":"a\"b","flag":true,"list":[1,2]}"#)
        var empty = JSONObject()
        #expect(empty.close() == Array("{}".utf8))
    }
}
