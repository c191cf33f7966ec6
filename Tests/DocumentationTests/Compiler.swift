import Foundation
import TestSupport

/// The compiler of the toolchain, with the modules of the build that runs the tests.
struct Compiler: Sendable {
    private let tool: Tool
    /// The search paths of Swift and C modules.
    private let modules: [String]
    /// The modules' target triple.
    private let target: String

    /// Nil if the build recorded no compiler arguments, or there is no compiler.
    static let shared = Compiler()

    private init?() {
        let folder = URL(fileURLWithPath: Tool.built("shop").path).deletingLastPathComponent()
        let scratch = folder.deletingLastPathComponent().deletingLastPathComponent()
        // SwiftPM's plan for llbuild: the arguments of the example, which has the same dependencies as the tutorial.
        let plan = scratch.appendingPathComponent("\(folder.lastPathComponent).yaml")
        guard let tool = Tool.swift, let text = try? String(contentsOf: plan, encoding: .utf8),
            let line = text.split(separator: "\n").first(where: {
                $0.contains(#""-module-name","shop","-emit-dependencies""#)
            }), let list = line.firstRange(of: "["),
            let arguments = try? JSONDecoder().decode([String].self, from: Data(line[list.lowerBound...].utf8))
        else { return nil }
        self.tool = tool
        var (modules, target): ([String], String?) = ([], nil)
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "-I" || argument == "-Xcc", let value = rest.popFirst() { modules += [argument, value] }
            if argument == "-target" { target = rest.popFirst() }
        }
        guard let target else { return nil }
        (self.modules, self.target) = (modules, target)
    }

    private func fault(_ arguments: [String]) async throws -> String? {
        let result = try await tool.output(["-swift-version", "6", "-warnings-as-errors"] + arguments)
        return result.code == 0 ? nil : result.text
    }

    /// Compiles files as a testable module into a folder. Returns the error, if any.
    func fault(ofModule name: String, _ files: [String], into folder: String) async throws -> String? {
        try await fault(
            [
                "-emit-module", "-enable-testing", "-parse-as-library", "-module-name", name, "-o",
                "\(folder)/\(name).swiftmodule",
            ] + modules + files)
    }

    /// Type-checks tests of a module in a folder.
    func fault(ofTests files: [String], of folder: String) async throws -> String? {
        let macros = URL(fileURLWithPath: tool.path).resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("../lib/swift/host/plugins/testing").path
        return try await fault(
            ["-typecheck", "-parse-as-library", "-module-name", "Tests", "-I", folder, "-plugin-path", macros] + modules
                + files)
    }

    /// Parses a file without resolving its names.
    func fault(ofSyntax file: String) async throws -> String? { try await fault(["-parse", file]) }

    /// Type-checks a `Package.swift`.
    func fault(ofManifest file: String) async throws -> String? {
        let library = URL(fileURLWithPath: tool.path).resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("../lib/swift/pm/ManifestAPI").path
        return try await fault(["-typecheck", "-package-description-version", "6.2", "-I", library, file])
    }

    /// Builds the documentation of a module and its catalogue into a folder. Returns the error, such as a broken link.
    ///
    /// - Parameter others: modules with documentation in the folder that may be linked to.
    func fault(
        ofDocumentation module: String, _ catalogue: String, into folder: String, beside others: [String]
    ) async throws -> String? {
        let symbols = "\(folder)/\(module)-symbols"
        try FileManager.default.createDirectory(atPath: symbols, withIntermediateDirectories: true)
        let extracted = try await tool.beside("swift-symbolgraph-extract").output(
            [
                "-module-name", module, "-target", target, "-minimum-access-level", "public", "-output-dir", symbols,
            ] + modules)
        guard extracted.code == 0 else { return extracted.text }
        let archives = others.flatMap { ["--dependency", "\(folder)/\($0).doccarchive"] }
        let converted = try await tool.beside("docc").output(
            [
                "convert", catalogue, "--additional-symbol-graph-dir", symbols, "--warnings-as-errors",
                "--fallback-display-name", module, "--fallback-bundle-identifier", module,
                "--enable-experimental-external-link-support", "--output-path", "\(folder)/\(module).doccarchive",
            ] + archives)
        return converted.code == 0 ? nil : converted.text
    }
}
