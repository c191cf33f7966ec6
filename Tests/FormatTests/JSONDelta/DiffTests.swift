import Testing
import WireJSON

@testable import JSONDelta

@Suite struct DiffTests {
    private func bytes(_ value: RandomDocument.Value) -> [UInt8] { Array(RandomDocument.text(value).utf8) }

    /// Returns true if two texts are the same document; the order of members does not matter.
    private func isSame(_ one: [UInt8], _ two: [UInt8]) throws -> Bool {
        let test = Array(#"[{"op":"test","path":"","value":"#.utf8) + two + Array("}]".utf8)
        return (try? JSONPatch.apply(test, to: one)) != nil
    }

    private func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    private func patch(_ old: String, _ new: String) -> String? {
        text(JSONPatch.diff(from: Array(old.utf8), to: Array(new.utf8)))
    }

    private func merge(_ old: String, _ new: String) -> String? {
        text(MergePatch.diff(from: Array(old.utf8), to: Array(new.utf8)))
    }

    @Test("A JSON Patch of two random documents makes the one of the other")
    func randomPatches() throws {
        for seed in 0..<3_000 {
            var random = RandomDocument(seed: UInt64(seed))
            let old = random.value(depth: 4)
            let new = random.next(4) == 0 ? random.value(depth: 4) : random.changed(random.changed(old))
            let (a, b) = (bytes(old), bytes(new))
            let patch = try #require(JSONPatch.diff(from: a, to: b), "seed \(seed)")
            let patched = try JSONPatch.apply(patch, to: a)
            #expect(try isSame(patched, b), "seed \(seed): \(text(a)!) to \(text(b)!) by \(text(patch)!)")
            let operations = text(patch)!
            for other in ["move", "copy", "test"] { #expect(!operations.contains(#"{"op":"\#(other)"#)) }
        }
    }

    @Test("A merge patch of two random documents makes the one of the other, or there is none for a null")
    func randomMergePatches() throws {
        var found = 0
        for seed in 0..<3_000 {
            var random = RandomDocument(seed: UInt64(seed))
            let hasNulls = random.next(2) == 0
            let old = random.value(depth: 4, nulls: hasNulls)
            let new =
                random.next(4) == 0 ? random.value(depth: 4, nulls: hasNulls) : random.changed(old, nulls: hasNulls)
            let (a, b) = (bytes(old), bytes(new))
            guard let patch = MergePatch.diff(from: a, to: b) else {
                #expect(hasNulls, "seed \(seed): \(text(a)!) to \(text(b)!)")
                continue
            }
            found += 1
            let patched = try MergePatch.apply(patch, to: a)
            #expect(try isSame(patched, b), "seed \(seed): \(text(a)!) to \(text(b)!) by \(text(patch)!)")
        }
        #expect(found > 2_000)
    }

    @Test("A JSON Patch names only what has changed")
    func smallPatches() {
        #expect(patch(#"{"a":1,"b":[1,2]}"#, #"{"a":1,"b":[1,2]}"#) == "[]")
        #expect(patch(#"{"a":1,"b":2}"#, #"{"a":1,"b":3}"#) == #"[{"op":"replace","path":"/b","value":3}]"#)
        #expect(
            patch(#"{"a":1,"b":"a text that stays as it is"}"#, #"{"b":"a text that stays as it is","c":[]}"#)
                == #"[{"op":"remove","path":"/a"},{"op":"add","path":"/c","value":[]}]"#)
        #expect(
            patch(
                #"{"a/b":{"m~n":1,"x":"a long text that stays"}}"#, #"{"a/b":{"m~n":2,"x":"a long text that stays"}}"#)
                == #"[{"op":"replace","path":"/a~1b/m~0n","value":2}]"#)
        #expect(
            patch(
                #"{"q\"":"a text","s":"another text of some length"}"#,
                #"{"q\"":"b","s":"another text of some length"}"#)
                == #"[{"op":"replace","path":"/q\"","value":"b"}]"#)
    }

    @Test("An element that comes or goes leaves the others as they are")
    func listPatches() {
        let list = (0..<8).map { #"{"id":\#($0),"name":"the name of element \#($0)"}"# }
        func text(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }
        #expect(patch(text(list), text(Array(list[1...]))) == #"[{"op":"remove","path":"/0"}]"#)
        #expect(patch(text(list), text(list + ["1"])) == #"[{"op":"add","path":"/8","value":1}]"#)
        var scattered = list
        scattered.remove(at: 6)
        scattered.insert("1", at: 4)
        scattered.removeFirst()
        #expect(
            patch(text(list), text(scattered + ["2", "3"]))
                == #"[{"op":"remove","path":"/0"},{"op":"add","path":"/3","value":1},"#
                + #"{"op":"remove","path":"/6"},{"op":"add","path":"/7","value":2},{"op":"add","path":"/8","value":3}]"#
        )
        let removed = text(Array(list[0..<2] + list[3..<6] + list[7...]))
        #expect(patch(text(list), removed) == #"[{"op":"remove","path":"/2"},{"op":"remove","path":"/5"}]"#)
    }

    @Test("A JSON Patch of two random lists makes the one of the other")
    func randomLists() throws {
        for seed in 0..<400 {
            var random = RandomDocument(seed: UInt64(seed))
            func row(_ id: Int) -> String { #"{"id":\#(id),"text":"of row \#(id)"}"# }
            let old = (0..<random.next(120)).map { row($0 % 50) }
            var new = old
            for change in 0..<random.next(40) {
                let place = random.next(new.count + 1)
                switch random.next(4) {
                case 0: new.insert(row(100 + change), at: place)
                case 1: new.insert(row(random.next(50)), at: place)
                case 2 where place < new.count: new.remove(at: place)
                case 3 where place < new.count: new[place] = row(200 + change)
                default: break
                }
            }
            let (a, b) = (Array("[\(old.joined(separator: ","))]".utf8), Array("[\(new.joined(separator: ","))]".utf8))
            let patch = try #require(JSONPatch.diff(from: a, to: b), "seed \(seed)")
            #expect(try JSONPatch.apply(patch, to: a) == b, "seed \(seed)")
        }
    }

    @Test("A list that is turned by one element loses the first and gets it as the last")
    func turnedList() {
        let list = (0..<700).map { #"{"id":\#($0),"name":"the name of element \#($0)"}"# }
        func text(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }
        #expect(
            patch(text(list), text(Array(list[1...]) + [list[0]]))
                == #"[{"op":"remove","path":"/0"},{"op":"add","path":"/699","value":\#(list[0])}]"#)
    }

    @Test("What has changed more than it stayed is replaced as a whole")
    func wholeValues() {
        #expect(
            patch(
                #"{"k":"a text that stays","p":{"x":1,"y":2,"z":3}}"#,
                #"{"k":"a text that stays","p":{"x":4,"y":5,"z":6}}"#)
                == #"[{"op":"replace","path":"/p","value":{"x":4,"y":5,"z":6}}]"#)
    }

    @Test("There is no patch that is not shorter than the limit")
    func limit() {
        let (old, new) = (Array(#"{"count":1}"#.utf8), Array(#"{"count":2}"#.utf8))
        #expect(JSONPatch.diff(from: old, to: new, below: new.count) == nil)
        #expect(MergePatch.diff(from: old, to: new, below: new.count) == nil)
        #expect(MergePatch.diff(from: old, to: new, below: new.count + 1) == new)
    }

    @Test("A merge patch names only what has changed")
    func smallMergePatches() {
        #expect(merge(#"{"a":1,"b":{"c":2,"d":[3]}}"#, #"{"a":1,"b":{"c":2,"d":[4]}}"#) == #"{"b":{"d":[4]}}"#)
        #expect(merge(#"{"a":1,"b":2}"#, #"{"b":2}"#) == #"{"a":null}"#)
        #expect(merge(#"{"a":1}"#, #"{"a":1}"#) == "{}")
        #expect(merge(#"{"a":1}"#, #"{"a":null}"#) == nil)
        #expect(merge(#"{"a":1}"#, #"{"a":{"b":null}}"#) == nil)
        #expect(merge(#"{"a":1}"#, #"{"a":[{"b":null}]}"#) == #"{"a":[{"b":null}]}"#)
        #expect(merge(#"{"a":{"x":1}}"#, #"{"a":{}}"#) == #"{"a":{"x":null}}"#)
    }

    @Test("A name that is escaped in another way is the same name")
    func escapedNames() throws {
        let (old, new) = (Array(#"{"\u0061":1,"b":2}"#.utf8), Array(#"{"a":1,"b":3}"#.utf8))
        let patched = try JSONPatch.apply(try #require(JSONPatch.diff(from: old, to: new)), to: old)
        #expect(try isSame(patched, new))
        let merged = try MergePatch.apply(try #require(MergePatch.diff(from: old, to: new)), to: old)
        #expect(try isSame(merged, new))
    }

    @Test("A text that is no JSON gives no patch or some patch, and nothing else happens")
    func malformedTexts() {
        let old = Array(#"{"a":[1,{"b":"c\"d"}],"e":null}"#.utf8)
        for length in 0...old.count {
            for byte in [UInt8(ascii: "\""), UInt8(ascii: "{"), UInt8(ascii: "]"), UInt8(ascii: "\\"), 0xFF] {
                var broken = Array(old[..<length])
                broken.append(byte)
                _ = JSONPatch.diff(from: old, to: broken)
                _ = JSONPatch.diff(from: broken, to: old)
                _ = MergePatch.diff(from: old, to: broken)
                _ = MergePatch.diff(from: broken, to: old)
            }
        }
        #expect(JSONPatch.diff(from: [], to: old) == nil)
        #expect(MergePatch.diff(from: old, to: []) == nil)
    }

    @Test(
        "Names whose escapes are cut short are read up to their end",
        arguments: [#"{"\uÓÝ":1}"#, #"{"\u00":1}"#, #"{"\ud800":1}"#, #"{"\ud800\u00":1}"#, #"{"\ud800ABCDEF":1}"#])
    func cutEscapes(text: String) {
        for other in [#"{"a\"":2}"#, text] {
            _ = patch(text, other)
            _ = patch(other, text)
            _ = merge(text, other)
            _ = merge(other, text)
        }
    }

    @Test("Elements that are long and alike are compared in a bounded number of bytes, and the patch is right")
    func alikeElements() throws {
        // Each pair differs in its last bytes only, and no two of both lists are the same.
        func list(_ mark: String, _ count: Int) -> [UInt8] {
            let same = String(repeating: "a", count: 2_000)
            let elements = (0..<count).map { "\"\(same)\(mark)\(1_000 + $0)\"" }
            return Array("[\(elements.joined(separator: ","))]".utf8)
        }
        let (old, new) = (list("x", 300), list("y", 290))
        var difference = try #require(ListDifference(TextPair(old, new), 0, 0))
        let limit = difference.bytesLeft
        _ = difference.kept(TextPair(old, new))
        // The last comparison may go beyond it by one element.
        #expect(difference.bytesLeft <= 0 && difference.bytesLeft > -2_100)
        #expect(limit == 8 * (old.count + new.count))
        let patch = try #require(JSONPatch.diff(from: old, to: new))
        #expect(try JSONPatch.apply(patch, to: old) == new)
    }
}
