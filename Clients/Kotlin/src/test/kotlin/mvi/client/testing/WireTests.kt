package mvi.client.testing

import java.io.File
import kotlin.time.Duration
import kotlin.time.Duration.Companion.days
import kotlin.time.Duration.Companion.seconds
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import mvi.client.wire.EventParser
import mvi.client.wire.JsonPatch
import mvi.client.wire.RetryAfter
import mvi.client.wire.Wire
import mvi.client.wire.WireException
import mvi.client.wire.optionalVersion
import mvi.client.wire.string

private fun isRefused(text: String): Boolean = try {
    Wire.read(text)
    false
} catch (_: WireException) {
    true
}

private fun patched(document: String, patch: String): String? = try {
    JsonPatch.apply(Wire.read(patch), Wire.read(document)).toString()
} catch (_: WireException) {
    null
}

internal fun wireTests(): List<Test> = listOf(
    Test("JSON is read strictly") {
        for (text in listOf("", "{", "word", "{\"a\":word}", "[01]", "[1,]", "[+1]", "[.5]", "{\"a\":1}x", "{a:1}")) {
            require(isRefused(text)) { "$text is accepted" }
        }
        require(isRefused("[".repeat(100_000))) { "an endless depth is accepted" }
        require(isRefused("[".repeat(600) + "]".repeat(600))) { "600 levels are accepted" }
        require(!isRefused("[".repeat(500) + "]".repeat(500))) { "500 levels are refused" }
        val numbers = "[1.50,12345678901234567890,-0,1e400]"
        requireEqual(Wire.read(numbers).toString(), numbers, "the text of numbers")
    },
    Test("a JSON Patch compares numbers by value") {
        val test = { one: String, two: String ->
            patched("{\"a\":$one}", """[{"op":"test","path":"/a","value":$two}]""")
        }
        require(test("1", "1.0") != null && test("100", "1e2") != null) { "equal numbers differ" }
        require(test("9007199254740993", "9007199254740992") == null) { "different integers are equal" }
        require(test("1", "\"1\"") == null && test("1", "true") == null) { "different types are equal" }
    },
    Test("a JSON Patch that copies without end is refused") {
        val copy = """{"op":"copy","from":"","path":"/a/-"}"""
        require(patched("{\"a\":[]}", "[$copy,$copy,$copy]") != null) { "a few copies are refused" }
        require(patched("{\"a\":[]}", List(40) { copy }.joinToString(",", "[", "]")) == null) { "it is applied" }
    },
    Test("Retry-After is read as seconds or as a date") {
        val now = 784_111_777_000 // Sun, 06 Nov 1994 08:49:37 GMT
        requireEqual(RetryAfter.parse("7", now), 7.seconds, "seconds")
        requireEqual(RetryAfter.parse("Sun, 06 Nov 1994 08:50:07 GMT", now), 30.seconds, "a date")
        requireEqual(RetryAfter.parse("Sat, 05 Nov 1994 08:50:07 GMT", now), Duration.ZERO, "a past date")
        requireEqual(RetryAfter.parse("9".repeat(40), now), 1.days, "a huge number")
        for (text in listOf("", "-1", "1.5", "soon", "Sun, 06 Nov 1994")) {
            requireEqual(RetryAfter.parse(text, now), null, text)
        }
    },
    Test("the golden streams give their events, however they are cut") {
        val folder = conformance("golden/parser")
        val names = folder.listFiles().orEmpty().filter { it.extension == "bytes" }.map { it.nameWithoutExtension }
        require(names.size > 30) { "${names.size} files" }
        for (name in names) {
            val bytes = File(folder, "$name.bytes").readBytes()
            val expected = Wire.readObject(File(folder, "$name.json").readText())
            for (length in listOf(1, 2, 3, 7, maxOf(bytes.size, 1))) {
                val parser = EventParser()
                val pieces = bytes.toList().chunked(length).map { it.toByteArray() }
                val events = pieces.flatMap { parser.feed(it) }
                val wanted = expected.getValue("events").jsonArray.map { it.jsonObject }
                requireEqual(events.map { it.name }, wanted.map { it.string("type") }, "$name, types")
                requireEqual(events.map { it.data }, wanted.map { it.string("data") }, "$name, data")
                requireEqual(parser.lastEventId, expected.string("lastID"), "$name, last id")
                requireEqual(parser.retryMilliseconds, expected.optionalVersion("retry"), "$name, retry")
            }
        }
    },
)
