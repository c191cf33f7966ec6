/// The version of this package.
package enum ServerVersion {
    /// As in `mvi-server --version`.
    package static let number = "0.1.0"
    /// The maker that generated documents name.
    static let maker = "mvi-server \(number)"
}
