/// A function on any bytes that checks properties which must hold for all of them.
package struct FuzzTarget: Sendable {
    /// The name in `script/fuzz` and of the corpus's folder.
    package let name: String
    /// Runs the tested code on an input; throws `BrokenProperty` if a property does not hold.
    package let run: @Sendable (_ input: [UInt8]) throws(BrokenProperty) -> Void

    /// Every target, in the order in which `script/fuzz` runs them.
    package static let all = [
        json, delta, events, cursor, paths, fields, requests, rows, columns, recorded, forgotten, backup, jwt,
    ]

    /// Returns true if an input begins with `TRAP`. Nested, so that each right byte reaches a new branch: a
    /// coverage-guided fuzzer finds it within seconds, another one never does.
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

/// A property that does not hold.
package struct BrokenProperty: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// Throws unless the condition is true.
func hold(_ condition: Bool, _ description: @autoclosure () -> String) throws(BrokenProperty) {
    if !condition { throw BrokenProperty(description()) }
}

/// Runs code that must not throw.
func succeed<Value>(_ description: String, _ body: () throws -> Value) throws(BrokenProperty) -> Value {
    do {
        return try body()
    } catch {
        throw BrokenProperty("\(description): \(error)")
    }
}

/// Runs code that throws errors of one type.
func attempt<Value, Failure: Error>(_ body: () throws(Failure) -> Value) -> Result<Value, Failure> {
    do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
}
