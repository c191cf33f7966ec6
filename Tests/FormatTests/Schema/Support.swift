import Schema
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
