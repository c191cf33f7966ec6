/// Why a command could not be carried out: a sentence for whoever gave it.
package struct ControlFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
