package mvi.client.testing

import java.io.File
import kotlin.system.exitProcess

/** A test. Its name is a sentence that is true when it passes. */
class Test(val name: String, val run: () -> Unit)

/** The failure of a test. */
class TestFailure(message: String) : Exception(message)

/** A file of `Clients/Conformance`. */
internal fun conformance(path: String) = File(System.getenv("MVI_ROOT") ?: "../..", "Clients/Conformance/$path")

/** Fails the test if a condition does not hold. */
fun require(holds: Boolean, message: () -> String) {
    if (!holds) throw TestFailure(message())
}

/** Fails the test if two values differ. */
fun <Value> requireEqual(found: Value, expected: Value, place: String = "") {
    require(found == expected) { "$place: $found, not $expected" }
}

/** Runs all tests, or those whose names have a word, and prints TAP. */
fun main(arguments: Array<String>) {
    val word = arguments.firstOrNull().orEmpty()
    val all = predictionVectorTests() + predictionRunTests() + keptRunTests() + keptTests() + storeTests() +
        presenceTests() + intentTests() + transportTests() + wireTests() + patchTests()
    val tests = all.filter { word in it.name }
    var failed = 0
    tests.forEachIndexed { index, test ->
        try {
            test.run()
            println("ok ${index + 1} - ${test.name}")
        } catch (error: Throwable) {
            failed += 1
            println("not ok ${index + 1} - ${test.name}")
            val trace = if (error is TestFailure) "${error.message}" else error.stackTraceToString()
            println(trace.lines().take(12).joinToString("\n") { "  $it" })
        }
    }
    println("# pass ${tests.size - failed}")
    println("# fail $failed")
    // The client's threads must not keep the process.
    exitProcess(if (failed > 0 || tests.isEmpty()) 1 else 0)
}
