import JSONDelta
import Testing

/// RFC 7396 Appendix A and section 3.
@Suite struct MergePatchExamplesTests {
    static let examples: [(document: String, patch: String, result: String)] = [
        (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
        (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
        (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#),
        (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
        (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
        (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
        (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
        (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
        (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
        (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
        (#"{"a":"foo"}"#, "null", "null"),
        (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
        (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
        (#"[1,2]"#, #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
        (#"{}"#, #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    ]

    @Test("An example of RFC 7396 Appendix A gives the result that it names", arguments: examples)
    func example(_ example: (document: String, patch: String, result: String)) throws {
        let patched = try MergePatch.apply(Array(example.patch.utf8), to: Array(example.document.utf8))
        #expect(String(decoding: patched, as: UTF8.self) == example.result)
    }

    @Test("The example of RFC 7396 section 3 gives the result that it names")
    func sectionThree() throws {
        let document = """
            {"title":"Goodbye!","author":{"givenName":"John","familyName":"Doe"},"tags":["example","sample"],\
            "content":"This will be unchanged"}
            """
        let patch = """
            {"title":"Hello!","phoneNumber":"+01-123-456-7890","author":{"familyName":null},"tags":["example"]}
            """
        let patched = try MergePatch.apply(Array(patch.utf8), to: Array(document.utf8))
        #expect(
            String(decoding: patched, as: UTF8.self) == """
                {"title":"Hello!","author":{"givenName":"John"},"tags":["example"],\
                "content":"This will be unchanged","phoneNumber":"+01-123-456-7890"}
                """)
    }
}
