import Foundation
import FuzzTargets
import Testing

// One after the other: none of them waits, and other tests need the pool's threads.
@Suite("The fuzzer's targets on their corpus", .serialized)
struct CorpusTests {
    private static let corpus = #filePath.replacing(#/Tests\/FuzzTargetsTests\/.*$/#, with: "") + "Fuzzing/Corpus/"

    /// The files of a target's folder, which script/fuzz begins with.
    private static func inputs(_ target: String) throws -> [(name: String, bytes: [UInt8])] {
        try FileManager.default.contentsOfDirectory(atPath: corpus + target).sorted().map { name in
            (name, Array(try Data(contentsOf: URL(filePath: corpus + target + "/" + name))))
        }
    }

    @Test("every property holds for every file of the corpus", arguments: FuzzTarget.all.map(\.name))
    func holds(name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let inputs = try Self.inputs(name)
        #expect(!inputs.isEmpty)
        for input in inputs {
            // And for some beginnings of it, as if the rest had been lost.
            for count in stride(from: input.bytes.count, through: 0, by: -max(1, input.bytes.count / 6)) {
                do throws(BrokenProperty) {
                    try target.run(Array(input.bytes.prefix(count)))
                } catch {
                    Issue.record("\(input.name), its first \(count) bytes: \(error)")
                }
            }
        }
    }

    @Test("every folder of the corpus is a target's")
    func folders() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus)
        #expect(folders.sorted() == FuzzTarget.all.map(\.name).sorted())
    }

    @Test("the planted trap is one input's beginning, and no file's of the corpus")
    func trap() throws {
        #expect(FuzzTarget.isTrap(Array("TRAP and more".utf8)))
        #expect(!FuzzTarget.isTrap(Array("TRA".utf8)) && !FuzzTarget.isTrap(Array("trap".utf8)))
        for target in FuzzTarget.all {
            for input in try Self.inputs(target.name) { #expect(!FuzzTarget.isTrap(input.bytes), "\(input.name)") }
        }
    }
}
