/// The version of this package.
package enum ServerVersion {
    /// The version, as `mvi-server --version` prints it.
    package static let number = "0.1.0"
    /// The generator that generated documents name.
    static let maker = "mvi-server \(number)"
}
