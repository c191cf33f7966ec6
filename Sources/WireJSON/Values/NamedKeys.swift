#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Dictionaries whose keys are texts of another type than `String`, such as identifiers and enums of texts.
///
/// The standard library encodes them as an array of alternating keys and values. They are objects here, like other
/// dictionaries. Stored values may contain the arrays of earlier versions.
package protocol NamedKeys {
    /// True if the keys are encoded as texts.
    static var areKeysNames: Bool { get }
}

extension Dictionary: NamedKeys {
    package static var areKeysNames: Bool {
        Key.self == UUID.self || Key.self is any RawRepresentable<String>.Type
    }
}
