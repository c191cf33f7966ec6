#if canImport(Glibc)
    // `environ` is a global variable of C; see `environment`.
    @preconcurrency import Glibc
#elseif canImport(Musl)
    @preconcurrency import Musl
#else
    import Darwin
#endif

/// What a process was started with.
///
/// A C border: the pointers of `environ` are read at once, and are valid as long as nothing sets a variable.
package enum ProcessState {
    /// The environment variables. Called at the start, before other threads could set one.
    package static var environment: [String: String] {
        #if canImport(Darwin)
            var next: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = _NSGetEnviron().pointee
        #else
            var next: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
        #endif
        var variables: [String: String] = [:]
        while let entry = next?.pointee {
            let text = String(cString: entry)
            if let end = text.firstIndex(of: "=") {
                variables[String(text[..<end])] = String(text[text.index(after: end)...])
            }
            next = next?.successor()
        }
        return variables
    }

    /// Returns true if the process ignores a signal.
    package static func ignores(_ signal: Int32) -> Bool {
        var action = sigaction()
        sigaction(signal, nil, &action)
        #if canImport(Darwin)
            let handler = action.__sigaction_u.__sa_handler
        #else
            let handler = action.__sigaction_handler.sa_handler
        #endif
        // As numbers: functions cannot be compared.
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
