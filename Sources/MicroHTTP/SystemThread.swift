import Glibc

/// A thread of the system, for loops that block.
package struct SystemThread: Sendable {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let handle: pthread_t

    /// Starts `body` on a new thread; nil if the system has none to give.
    package init?(_ body: @escaping @Sendable () -> Void) {
        var handle = pthread_t()
        // Retained here, released in the thread's first line.
        let box = Unmanaged.passRetained(Body(body))
        let result = pthread_create(
            &handle, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, box.toOpaque())
        guard result == 0 else {
            box.release()
            return nil
        }
        self.handle = handle
    }

    /// Lets the thread end by itself, with nobody waiting. Instead of `join`.
    package func detach() {
        pthread_detach(handle)
    }

    /// Waits for the thread's end. Once, and not from itself.
    package func join() {
        pthread_join(handle, nil)
    }
}
