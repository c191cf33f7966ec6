import Foundation
import Testing

/// Checks that the packages of a reader who follows the tutorial compile.
@Suite("The tutorial", .timeLimit(.minutes(10)))
struct TutorialTests {
    private static let folder = "Sources/MVIServer/MVIServer.docc/Tutorials"

    /// A file in the state of one step.
    private struct Step {
        /// The file's name in the reader's package.
        let name: String
        /// The file's name in the catalogue.
        let file: String

        var isTest: Bool { name.hasSuffix("Tests.swift") }
    }

    @Test(.enabled(if: Compiler.shared != nil))
    func `leads from one package that compiles to the next, step by step`() async throws {
        let compiler = try #require(Compiler.shared)
        let folder = try WorkFolder()
        // Corresponds to the page resources that SwiftPM generates.
        let page = try folder.write(
            "struct PackageResources { static let index_html: [UInt8] = []; static let page_js: [UInt8] = [] }\n",
            to: "PackageResources.swift")
        var package: [String: String] = [:]
        var checked: Set<Set<String>> = []
        // The sources of the module in the folder.
        var made: Set<String> = []
        for (section, steps) in try Self.sections().enumerated() {
            let code = steps.filter { $0.name.hasSuffix(".swift") && $0.name != "Package.swift" }
            // A step's file is compiled with the others in their state at the end of the section.
            for step in code { package[step.name] = step.file }
            for step in code {
                let app = package.merging([step.name: step.file]) { $1 }
                    .filter { !$0.key.hasSuffix("Tests.swift") }
                let isNew = checked.insert(Set(app.values)).inserted
                if isNew || (step.isTest && made != Set(app.values)) {
                    let files = try app.map {
                        try folder.write(try Self.text($0.value), to: "\(section)/\($0.value)/\($0.key)")
                    }
                    let fault = try await compiler.fault(
                        ofModule: "LittleShop", files.sorted() + [page], into: folder.path)
                    #expect(fault == nil, "\(step.file): \(fault ?? "")")
                    made = Set(app.values)
                }
                guard step.isTest else { continue }
                let tests = try folder.write(try Self.text(step.file), to: "\(section)/tests/\(step.name)")
                let fault = try await compiler.fault(ofTests: [tests], of: folder.path)
                #expect(fault == nil, "\(step.file): \(fault ?? "")")
            }
        }
        #expect(checked.count > 10)
    }

    @Test(.enabled(if: Compiler.shared != nil))
    func `has manifests that compile`() async throws {
        let compiler = try #require(Compiler.shared)
        let folder = try WorkFolder()
        for step in try Self.sections().joined() where step.name == "Package.swift" {
            let file = try folder.write(try Self.text(step.file), to: "Package.swift")
            let fault = try await compiler.fault(ofManifest: file)
            #expect(fault == nil, "\(step.file): \(fault ?? "")")
        }
    }

    @Test func `uses every file of its resources`() throws {
        let used = Set(try Self.sections().joined().map(\.file))
        let files = Repository.files(in: ["\(Self.folder)/Resources"], "")
            .map { $0.split(separator: "/").last.map(String.init) ?? $0 }.filter { !$0.hasSuffix(".svg") }
        #expect(Set(files) == used)
    }

    private static func text(_ file: String) throws -> String { try Repository.text("\(folder)/Resources/\(file)") }

    /// The steps of each section, in the order of the table of contents.
    private static func sections() throws -> [[Step]] {
        let contents = try Repository.text("\(folder)/FromNothingToTheShop.tutorial")
        return try contents.matches(of: #/@TutorialReference\(tutorial: "doc:([^"]+)"\)/#).flatMap { reference in
            let text = try Repository.text("\(folder)/\(reference.1).tutorial")
            return text.components(separatedBy: "@Section(").dropFirst().map { section in
                section.matches(of: #/@Code\(name: "([^"]+)", file: "([^"]+)"\)/#).map {
                    Step(name: String($0.1), file: String($0.2))
                }
            }
        }
    }
}
