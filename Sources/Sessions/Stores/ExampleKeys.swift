import MVI
import SessionJournal

/// Keys of a keyed feature that somebody who does not know it can try.
@usableFromInline
package struct ExampleKeys<F: Feature>: Sendable {
    /// In the order in which they were given.
    @usableFromInline let keys: [String]
    private let make: (@Sendable (_ key: String) throws -> F?)?

    /// - Parameter make: makes the instance of a key, for no caller; nil where none can be made, or is wanted.
    @usableFromInline
    package init(_ keys: [String] = [], make: (@Sendable (_ key: String) throws -> F?)? = nil) {
        (self.keys, self.make) = (keys, make)
    }

    /// The view state of a new store of the first key; nil if that cannot be said without a caller.
    ///
    /// Makes an instance of each key. Throws `FeatureDefinitionError` for a key that is none, or is not taken. A `Refusal`
    /// is no fault of the key: who asks, and when, may decide.
    @usableFromInline
    func viewState() throws -> F.ViewState? {
        var state: F.ViewState?
        for (index, key) in keys.enumerated() {
            guard FeatureID.isKey(key.utf8) else { throw fault(key, "a key is [A-Za-z0-9._~-]{1,64}") }
            guard !keys[..<index].contains(key) else { throw fault(key, "it is named twice") }
            guard let make else { continue }
            do {
                guard let feature = try make(key) else { throw fault(key, "there is nothing under it") }
                if index == 0 { state = feature.view(feature.initialState) }
            } catch let error as FeatureDefinitionError {
                throw error
            } catch is Refusal {
                continue
            } catch {
                throw fault(key, "its maker failed: \(error)")
            }
        }
        return state
    }

    private func fault(_ key: String, _ reason: String) -> FeatureDefinitionError {
        .exampleKey(feature: F.name, key: key, reason)
    }
}
