/// The version of this package.
package enum ServerVersion {
    /// As in `mvi-server --version`.
    package static let number = "0.1.0"
    /// What documents that are made from features name as their maker.
    static let maker = "mvi-server \(number)"
}
