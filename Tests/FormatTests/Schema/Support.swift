import Foundation
import Schema
import Testing
import WireJSON

/// The shape of a feature with a state and, if a test is about them, intents.
func shape(_ state: any Decodable.Type, intent: any Decodable.Type = Never.self) -> FeatureShape {
    FeatureShape(name: "probe", isKeyed: false, summary: "", state: state, intent: intent, label: Never.self)
}

/// The schema of a type as JSON without blanks, with the definitions that it leads to behind it.
func schema(_ type: any Decodable.Type) -> String {
    JSONSchema(shape(type)).definitions().filter { !["Intent", "Label"].contains($0.name) }
        .map { "\($0.name) \(String(decoding: $0.schema.bytes(), as: UTF8.self))" }.joined(separator: "\n")
}

/// The same where the type is one of intents.
func intentSchema(_ type: any Decodable.Type) -> String {
    JSONSchema(shape(Bool.self, intent: type)).definitions().filter { !["State", "Label"].contains($0.name) }
        .map { "\($0.name) \(String(decoding: $0.schema.bytes(), as: UTF8.self))" }.joined(separator: "\n")
}

/// Expects that Swift's compiler accepts a source.
func typecheck(_ source: String) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "mvi-types-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "odd.swift")
    try source.write(to: file, atomically: true, encoding: .utf8)
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["swiftc", "-swift-version", "6", "-warnings-as-errors", "-typecheck", file.path]
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(text)")
}
