#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A thread for blocking work, which must not occupy a pool's thread.
package struct SystemThread: Sendable {
    fileprivate final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let handle: pthread_t

    /// Starts `body` on a new thread; nil if the system cannot create one.
    package init?(_ body: @escaping @Sendable () -> Void) {
        // Retained here and released in the thread's first line.
        let box = Unmanaged.passRetained(Body(body))
        #if canImport(Darwin)
            var handle: pthread_t?
        #else
            var handle = pthread_t()
        #endif
        let result = pthread_create(&handle, nil, { runBody($0) }, box.toOpaque())
        #if canImport(Darwin)
            let thread = handle
        #else
            let thread: pthread_t? = handle
        #endif
        guard result == 0, let thread else {
            box.release()
            return nil
        }
        self.handle = thread
    }

    /// Lets the thread end without a `join`.
    package func detach() {
        pthread_detach(handle)
    }

    /// Waits for the thread's end. Call it once, and not from the thread itself.
    package func join() {
        pthread_join(handle, nil)
    }
}

/// The thread's entry point. The parameter is optional on Linux only.
private func runBody(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let box else { return nil }
    Unmanaged<SystemThread.Body>.fromOpaque(box).takeRetainedValue().run()
    return nil
}
