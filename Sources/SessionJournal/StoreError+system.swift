import MVI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Returns the text of an errno.
package func systemText(_ code: Int32) -> String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }

extension StoreError {
    /// An error of a system call, from its errno.
    package init(_ code: Int32, _ what: String) {
        self.init(code == ENOSPC || code == EDQUOT ? .full : .unavailable, "\(what): \(systemText(code)).")
    }
}
