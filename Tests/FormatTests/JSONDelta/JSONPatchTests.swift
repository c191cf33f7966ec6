import JSONDelta
import Testing

@Suite struct JSONPatchTests {
    private func apply(_ patch: String, to document: String) throws -> String {
        String(decoding: try JSONPatch.apply(Array(patch.utf8), to: Array(document.utf8)), as: UTF8.self)
    }

    @Test(
        "A patch that does not fit is refused with the reason",
        arguments: [
            ("{}", "an array"), ("[1]", "the \"op\""), (#"[{"op":"add","value":1}]"#, "the \"path\""),
            (#"[{"op":"add","path":"/b"}]"#, "no \"value\""), (#"[{"op":"put","path":"/b"}]"#, "operation 'put'"),
            (#"[{"op":"add","path":"b","value":1}]"#, "begins with '/'"),
            (#"[{"op":"add","path":"/~2","value":1}]"#, "'~'"),
            (#"[{"op":"remove","path":"/none"}]"#, "no value at 'none'"),
            (#"[{"op":"remove","path":""}]"#, "whole document"),
            (#"[{"op":"replace","path":"/none","value":1}]"#, "no value at 'none'"),
            (#"[{"op":"replace","path":"/list/01","value":1}]"#, "no index '01'"),
            (#"[{"op":"replace","path":"/list/-","value":1}]"#, "no index '-'"),
            (#"[{"op":"add","path":"/list/4","value":1}]"#, "no index '4'"),
            (#"[{"op":"remove","path":"/list/3"}]"#, "no index '3'"),
            (#"[{"op":"add","path":"/a/b","value":1}]"#, "no value at 'b'"),
            (#"[{"op":"move","from":"/list","path":"/list/0"}]"#, "into itself"),
            (#"[{"op":"move","from":"/none","path":"/b"}]"#, "no value at 'none'"),
            (#"[{"op":"test","path":"/a","value":"1"}]"#, "test failed"),
            (#"[{"op":"add","path":"/b","value":1}"#, "not valid JSON"),
        ])
    func refused(_ patch: String, _ reason: String) {
        let error = #expect(throws: DeltaError.self) { try apply(patch, to: #"{"a":1,"list":[1,2,3]}"#) }
        #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
    }

    @Test("An operation that fails undoes those before it")
    func allOrNone() {
        #expect(throws: DeltaError.self) {
            try apply(#"[{"op":"add","path":"/b","value":1},{"op":"remove","path":"/c"}]"#, to: "{}")
        }
    }

    @Test("A copy is a value of its own")
    func copies() throws {
        let patch = #"[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/x","value":2}]"#
        #expect(try apply(patch, to: #"{"a":{}}"#) == #"{"a":{},"b":{"x":2}}"#)
    }

    @Test("Numbers that no type holds stay as they are written")
    func numbers() throws {
        let document = #"{"n":123456789012345678901234567890,"m":0.10}"#
        #expect(try apply("[]", to: document) == document)
        let patch = #"[{"op":"test","path":"/m","value":1e-1},{"op":"test","path":"/n","value":0}]"#
        #expect(throws: DeltaError("a test failed: the value is different")) { try apply(patch, to: document) }
    }

    @Test func `numbers keep all digits, and are compared with them`() throws {
        let document = Array(#"{"a":0.12345678901234567890123456789,"b":[1]}"#.utf8)
        let next = Array(#"{"a":0.12345678901234567890123456780,"b":[1,340282366920938463463374607431768211455]}"#.utf8)
        let patch = try #require(JSONPatch.diff(from: document, to: next))
        #expect(try JSONPatch.apply(patch, to: document) == next)
        let merge = try #require(MergePatch.diff(from: document, to: next))
        #expect(try MergePatch.apply(merge, to: document) == next)
        let test = Array(#"[{"op":"test","path":"/a","value":0.12345678901234567890123456788}]"#.utf8)
        #expect(throws: DeltaError.self) { try JSONPatch.apply(test, to: document) }
        let same = Array(#"[{"op":"test","path":"/a","value":123456789012345678901234567890e-30}]"#.utf8)
        #expect(try JSONPatch.apply(same, to: document) == document)
    }

    @Test("The whole document can be replaced")
    func wholeDocument() throws {
        #expect(try apply(#"[{"op":"replace","path":"","value":[1]}]"#, to: "{}") == "[1]")
        #expect(try apply(#"[{"op":"add","path":"","value":2}]"#, to: "{}") == "2")
    }

    @Test("A short patch cannot make a document without bound")
    func doubling() {
        let doubling = (0..<40).map { _ in #"{"op":"copy","from":"","path":"/-"}"# }.joined(separator: ",")
        #expect(throws: DeltaError.self) { try apply("[\(doubling)]", to: "[[]]") }
        let nesting = (0..<600).map {
            "{\"op\":\"add\",\"path\":\"\(String(repeating: "/0", count: $0 + 1))\",\"value\":[]}"
        }
        #expect(throws: DeltaError.self) { try apply("[\(nesting.joined(separator: ","))]", to: "[]") }
    }

    // A step through all members for each operation would take several times the limit.
    @Test("A patch does not cost its operations times the members", .timeLimit(.minutes(5)))
    func manyOperations() throws {
        let count = 100_000
        func list(_ item: (Int) -> String) -> String { (0..<count).map(item).joined(separator: ",") }
        let document = "{\(list { "\"item-\($0)\":0" })}"
        let replaced = try apply(
            "[\(list { "{\"op\":\"replace\",\"path\":\"/item-\($0)\",\"value\":1}" })]", to: document)
        #expect(replaced == "{\(list { "\"item-\($0)\":1" })}")
        let removed = try apply("[\(list { "{\"op\":\"remove\",\"path\":\"/item-\($0)\"}" })]", to: document)
        #expect(removed == "{}")
        let merged = String(
            decoding: try MergePatch.apply(Array(replaced.utf8), to: Array(document.utf8)), as: UTF8.self)
        #expect(merged == replaced)
    }

    @Test("Members that are removed, added and moved in a large object are found where they are")
    func largeObject() throws {
        let document = "{" + (0..<40).map { "\"m\($0)\":\($0)" }.joined(separator: ",") + "}"
        var operations: [String] = []
        for number in 0..<30 {
            operations.append("{\"op\":\"test\",\"path\":\"/m\(number)\",\"value\":\(number)}")
            operations.append("{\"op\":\"remove\",\"path\":\"/m\(number)\"}")
        }
        operations.append(#"{"op":"add","path":"/m3","value":"new"}"#)
        operations.append(#"{"op":"add","path":"/m31","value":"set"}"#)
        operations.append(#"{"op":"move","from":"/m30","path":"/m4"}"#)
        operations += (32..<40).map { "{\"op\":\"remove\",\"path\":\"/m\($0)\"}" }
        operations.append(#"{"op":"test","path":"","value":{"m4":30,"m3":"new","m31":"set"}}"#)
        let patch = "[\(operations.joined(separator: ","))]"
        #expect(try apply(patch, to: document) == #"{"m31":"set","m3":"new","m4":30}"#)
        #expect(throws: DeltaError("there is no value at 'm30'")) {
            try apply(patch.dropLast() + #",{"op":"remove","path":"/m30"}]"#, to: document)
        }
    }

    @Test("A value that is copied, moved or merged changes at one place only")
    func places() throws {
        let patch = """
            [{"op":"copy","from":"/a","path":"/b"},{"op":"replace","path":"/a/list/0","value":2},
            {"op":"move","from":"/b","path":"/c"},{"op":"add","path":"/c/list/-","value":3},
            {"op":"copy","from":"/c/list","path":"/a/other"},{"op":"remove","path":"/a/other/0"}]
            """
        #expect(
            try apply(patch, to: #"{"a":{"list":[1]}}"#)
                == #"{"a":{"list":[2],"other":[3]},"c":{"list":[1,3]}}"#)
    }
}
