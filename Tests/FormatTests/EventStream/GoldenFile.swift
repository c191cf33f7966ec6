import FoundationEssentials
import Testing

/// A pair of files: bytes, and JSON that says what they mean.
struct GoldenFile: CustomTestStringConvertible, Sendable {
    let path: String
    let testDescription: String

    /// The pairs of a folder of `Clients/Conformance/golden`, in the order of their names.
    static func all(in folder: String) -> [GoldenFile] {
        let folder = root + folder + "/"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted().map { name in
            let name = String(name.dropLast(".json".count))
            return GoldenFile(path: folder + name, testDescription: name)
        }
    }

    private static let root: String = {
        var path = #filePath.split(separator: "/")
        path.removeLast(4)
        return "/" + path.joined(separator: "/") + "/Clients/Conformance/golden/"
    }()

    func bytes() throws -> [UInt8] { try Array(Data(contentsOf: URL(filePath: path + ".bytes"))) }

    func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(contentsOf: URL(filePath: path + ".json")))
    }
}
