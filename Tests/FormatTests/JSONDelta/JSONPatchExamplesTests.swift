import JSONDelta
import Testing

/// RFC 6902 Appendix A.
@Suite struct JSONPatchExamplesTests {
    struct Example: Sendable, CustomTestStringConvertible {
        let section: String
        let document: String
        let patch: String
        /// Nil where the patch must be refused.
        let result: String?
        var testDescription: String { section }
    }

    static let examples = [
        Example(
            section: "A.1 adding an object member", document: #"{"foo":"bar"}"#,
            patch: #"[{"op":"add","path":"/baz","value":"qux"}]"#, result: #"{"foo":"bar","baz":"qux"}"#),
        Example(
            section: "A.2 adding an array element", document: #"{"foo":["bar","baz"]}"#,
            patch: #"[{"op":"add","path":"/foo/1","value":"qux"}]"#, result: #"{"foo":["bar","qux","baz"]}"#),
        Example(
            section: "A.3 removing an object member", document: #"{"baz":"qux","foo":"bar"}"#,
            patch: #"[{"op":"remove","path":"/baz"}]"#, result: #"{"foo":"bar"}"#),
        Example(
            section: "A.4 removing an array element", document: #"{"foo":["bar","qux","baz"]}"#,
            patch: #"[{"op":"remove","path":"/foo/1"}]"#, result: #"{"foo":["bar","baz"]}"#),
        Example(
            section: "A.5 replacing a value", document: #"{"baz":"qux","foo":"bar"}"#,
            patch: #"[{"op":"replace","path":"/baz","value":"boo"}]"#, result: #"{"baz":"boo","foo":"bar"}"#),
        Example(
            section: "A.6 moving a value", document: #"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
            patch: #"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
            result: #"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#),
        Example(
            section: "A.7 moving an array element", document: #"{"foo":["all","grass","cows","eat"]}"#,
            patch: #"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#,
            result: #"{"foo":["all","cows","eat","grass"]}"#),
        Example(
            section: "A.8 testing a value: success", document: #"{"baz":"qux","foo":["a",2,"c"]}"#,
            patch: #"[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]"#,
            result: #"{"baz":"qux","foo":["a",2,"c"]}"#),
        Example(
            section: "A.9 testing a value: error", document: #"{"baz":"qux"}"#,
            patch: #"[{"op":"test","path":"/baz","value":"bar"}]"#, result: nil),
        Example(
            section: "A.10 adding a nested member object", document: #"{"foo":"bar"}"#,
            patch: #"[{"op":"add","path":"/child","value":{"grandchild":{}}}]"#,
            result: #"{"foo":"bar","child":{"grandchild":{}}}"#),
        Example(
            section: "A.11 ignoring unrecognized elements", document: #"{"foo":"bar"}"#,
            patch: #"[{"op":"add","path":"/baz","value":"qux","xyz":123}]"#, result: #"{"foo":"bar","baz":"qux"}"#),
        Example(
            section: "A.12 adding to a nonexistent target", document: #"{"foo":"bar"}"#,
            patch: #"[{"op":"add","path":"/baz/bat","value":"qux"}]"#, result: nil),
        Example(
            section: "A.13 invalid JSON Patch document", document: #"{"foo":"bar"}"#,
            patch: #"[{"op":"add","path":"/baz","value":"qux","op":"remove"}]"#, result: nil),
        Example(
            section: "A.14 escape ordering", document: #"{"/":9,"~1":10}"#,
            patch: #"[{"op":"test","path":"/~01","value":10}]"#, result: #"{"/":9,"~1":10}"#),
        Example(
            section: "A.15 comparing strings and numbers", document: #"{"/":9,"~1":10}"#,
            patch: #"[{"op":"test","path":"/~01","value":"10"}]"#, result: nil),
        Example(
            section: "A.16 adding an array value", document: #"{"foo":["bar"]}"#,
            patch: #"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#,
            result: #"{"foo":["bar",["abc","def"]]}"#),
    ]

    @Test("An example of RFC 6902 gives the result that it names", arguments: examples)
    func example(_ example: Example) throws {
        let patched = try? JSONPatch.apply(Array(example.patch.utf8), to: Array(example.document.utf8))
        #expect(patched.map { String(decoding: $0, as: UTF8.self) } == example.result)
    }
}
