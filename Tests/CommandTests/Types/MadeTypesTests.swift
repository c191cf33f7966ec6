import Foundation
import TestSupport
import Testing
import Yams

@testable import MVIServer
@testable import mvi_server

/// The documents that `mvi-server schema` and `mvi-server types` print.
@Suite("The demo features' types", .timeLimit(.minutes(10)))
struct MadeTypesTests {
    private let types: FeatureTypes

    init() async throws { types = try await ServerProgram<DemoServer>.parse([]).types() }

    /// A file of `Tests/CommandTests/Types/Files`.
    private static func path(_ name: String) -> String {
        "\(#filePath)".replacing(#/\/Types\/[^\/]*$/#, with: "/Types/Files/\(name)")
    }

    @Test(arguments: ["features.json", "features.ts", "features.kt", "features.swift.txt"])
    func `equal the files in Types/Files`(file: String) throws {
        let made =
            switch file {
            case "features.ts": types.source(in: .typeScript)
            case "features.kt": types.source(in: .kotlin)
            case "features.swift.txt": types.source(in: .swift)
            default: types.schemas()
            }
        let path = Self.path(file)
        if ProcessInfo.processInfo.environment["MVI_RENEW_FILES"] != nil {
            try made.write(toFile: path, atomically: true, encoding: .utf8)
        }
        let kept = try? String(contentsOfFile: path, encoding: .utf8)
        #expect(
            kept == made,
            """
            \(file) is not what is made now. If that is meant: MVI_RENEW_FILES=1 script/test --filter MadeTypesTests, \
            then look at what git says has changed.
            """)
    }

    @Test(.enabled(if: Tool.typeScript != nil))
    func `in TypeScript compile, and wrong uses do not`() async throws {
        let folder = try TemporaryFolder()
        let tool = try #require(Tool.typeScript)
        try types.source(in: .typeScript).write(toFile: "\(folder.path)/features.ts", atomically: true, encoding: .utf8)
        let use = try String(contentsOfFile: Self.path("use.ts"), encoding: .utf8)
        try use.write(toFile: "\(folder.path)/use.ts", atomically: true, encoding: .utf8)
        let compiled = try await tool.output(["--strict", "--noEmit", "--target", "es2020", "\(folder.path)/use.ts"])
        #expect(compiled.code == 0, "\(compiled.text)")
        // Each line that is expected to be an error is one.
        let bare = use.split(separator: "\n", omittingEmptySubsequences: false).filter {
            !$0.contains("@ts-expect-error")
        }
        try bare.joined(separator: "\n").write(toFile: "\(folder.path)/use.ts", atomically: true, encoding: .utf8)
        let refused = try await tool.output(["--strict", "--noEmit", "--target", "es2020", "\(folder.path)/use.ts"])
        #expect(refused.text.split(separator: "\n").count { $0.contains("error TS") } == 5, "\(refused.text)")
    }

    @Test(.enabled(if: Tool.swift != nil), arguments: [false, true])
    func `in Swift compile, with a view's code`(openEnums: Bool) async throws {
        let folder = try TemporaryFolder()
        let tool = try #require(Tool.swift)
        let source = types.source(in: .swift, openEnums: openEnums)
        try source.write(toFile: "\(folder.path)/features.swift", atomically: true, encoding: .utf8)
        var use = try String(contentsOfFile: Self.path("use.swift"), encoding: .utf8)
        if openEnums {
            use = use.replacing("case .toast(let text): text", with: "case .toast(let text): text; case .unknown: \"\"")
        }
        try use.write(toFile: "\(folder.path)/use.swift", atomically: true, encoding: .utf8)
        let files = ["\(folder.path)/features.swift", "\(folder.path)/use.swift"]
        let compiled = try await tool.output(["-swift-version", "6", "-warnings-as-errors", "-typecheck"] + files)
        #expect(compiled.code == 0, "\(compiled.text)")
    }

    @Test func `the OpenAPI document has each feature's paths and types, and all references resolve`() throws {
        let text = types.openAPI()
        let root = try #require(try Yams.compose(yaml: text))
        let paths = try #require(root["paths"]?.mapping)
        let names = paths.keys.compactMap(\.string)
        for name in ["counter", "video-list", "user-info", "lesson-detail:{key}", "checklist:{key}"] {
            for part in ["state", "intents", "events"] { #expect(names.contains("/features/\(name)/\(part)")) }
        }
        #expect(!text.contains("/features/{id}"))

        let pattern = #/\$ref"?: "(#\/[^"]+)"/#
        for match in text.matches(of: pattern) {
            let steps = match.output.1.split(separator: "/").dropFirst()
            #expect(steps.reduce(root as Node?) { $0?[String($1)] } != nil, "\(match.output.1) leads nowhere")
        }
        let ids = text.matches(of: #/ {6}operationId: (\S+)\n {6}(tags|summary)/#).map { String($0.output.1) }
        #expect(ids.count == Set(ids).count && ids.contains("sendIntent-counter"))
        for match in text.matches(of: #/operationId: (\S+)\n *description/#) {
            #expect(ids.contains(String(match.output.1)), "\(match.output.1) is linked to, and is not there")
        }
        for (path, item) in paths where path.string?.hasPrefix("/features/order-detail") == true {
            #expect(item["parameters"]?[0]?["name"]?.string == "key")
            let examples = item["parameters"]?[0]?["examples"]?.mapping
            #expect(examples?.keys.map(\.string) == ["42", "43"])
            #expect(examples?.values.map { $0["value"]?.string } == ["42", "43"])
        }
        for (name, isShared) in [("counter", false), ("checklist:{key}", true)] {
            let description = root["paths"]?["/features/\(name)/state"]?["description"]?.string
            #expect(description?.hasPrefix("A shared store") == (isShared ? true : nil))
        }
        let intent = root["paths"]?["/features/counter/intents"]?["post"]?["requestBody"]?["content"]?[
            "application/json"]
        #expect(intent?["schema"]?["$ref"]?.string == "#/components/schemas/counter.Intent")
        #expect(intent?["examples"]?["add"]?["value"]?["amount"]?.int == 5)
        let schemas = root["components"]?["schemas"]
        #expect(schemas?["counter.Intent"]?["oneOf"]?.sequence?.count == 4)
        let statuses = (schemas?.mapping?.keys.compactMap(\.string) ?? []).filter { $0.hasSuffix("LoadStatus") }
        #expect(statuses == ["Shared.LoadStatus"])
        #expect(
            schemas?["counter.LabelEvent"]?["properties"]?["label"]?["$ref"]?.string?.hasSuffix("/counter.Label")
                == true)
    }

    @Test(arguments: [
        ["types"], ["types", "--cobol"], ["types", "--open-enums"], ["types", "--swift", "--kotlin"],
        ["types", "--swift", "--check", "old"], ["schema", "--kotlin"], ["schema", "counter", "--openapi"],
    ])
    func `invalid arguments are refused`(arguments: [String]) {
        #expect(throws: (any Error).self) { try ServerProgram<DemoServer>.parseAsRoot(arguments) }
    }

    @Test func `are compared with those of an earlier build`() async throws {
        let folder = try TemporaryFolder()
        let tool = Tool.built("mvi-server")
        let path = "\(folder.path)/old.json"
        let old = types.schemas()
        func compare(_ text: String, _ more: String...) async throws -> (code: Int32, text: String) {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return try await tool.output(["types", "--check", path] + more)
        }
        let same = try await compare(old)
        #expect(same.code == 0 && same.text == "Nothing breaks installed apps.\n")
        // An earlier build whose counter had another member.
        let other = old.replacing("\"isLoading\"", with: "\"isBusy\"")
        let broken = try await compare(other)
        #expect(broken.code == 1 && broken.text.contains("counter: state/isBusy is gone.\n"), "\(broken.text)")
        let wrong = try await compare("openapi: 3.1.0")
        #expect(wrong.code == 1 && wrong.text.contains("is not what `mvi-server schema` prints"), "\(wrong.text)")
        let missing = try await tool.output(["types", "--check", "\(folder.path)/nothing"])
        #expect(missing.code == 1 && missing.text.contains("nothing' is needed"), "\(missing.text)")
    }

    @Test func `an unknown feature is refused with the names of the known ones`() async throws {
        let (code, text) = try await Tool.built("mvi-server").output(["schema", "nope"])
        #expect(code == 1)
        #expect(text.hasPrefix("mvi-server: There is no feature 'nope'; there are counter, video-list"))
    }
}
