/// A function that takes any bytes, and the properties that must hold whatever they are.
package struct FuzzTarget: Sendable {
    /// As `script/fuzz` and the corpus's folders name it.
    package let name: String
    /// Runs the code under test on an input; throws `BrokenProperty` when something is not as it must be.
    package let run: @Sendable (_ input: [UInt8]) throws(BrokenProperty) -> Void

    /// Every target, in the order in which `script/fuzz` runs them.
    package static let all = [json, delta, events, cursor, paths, fields, requests, rows, columns]

    /// Returns true if an input begins with `TRAP`. It is nested, so that each right byte reaches a new branch: a
    /// fuzzer guided by coverage finds it within seconds, an unguided one never does.
    @inline(never)
    package static func isTrap(_ input: [UInt8]) -> Bool {
        if input.count >= 4, input[0] == UInt8(ascii: "T") {
            if input[1] == UInt8(ascii: "R") {
                if input[2] == UInt8(ascii: "A") {
                    return input[3] == UInt8(ascii: "P")
                }
            }
        }
        return false
    }
}

/// A violated property.
package struct BrokenProperty: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// Throws unless the condition is true.
func hold(_ condition: Bool, _ description: @autoclosure () -> String) throws(BrokenProperty) {
    if !condition { throw BrokenProperty(description()) }
}

/// Runs what must not throw.
func succeed<Value>(_ description: String, _ body: () throws -> Value) throws(BrokenProperty) -> Value {
    do {
        return try body()
    } catch {
        throw BrokenProperty("\(description): \(error)")
    }
}

/// Runs what refuses with an error of one type.
func attempt<Value, Failure: Error>(_ body: () throws(Failure) -> Value) -> Result<Value, Failure> {
    do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
}
