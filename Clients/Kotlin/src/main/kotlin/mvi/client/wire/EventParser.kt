package mvi.client.wire

/**
 * An event as a client receives it.
 *
 * @property name the event's type; `message` if the stream named none.
 * @property id the id that this event itself carried, if any.
 * @property data the data lines joined by LF.
 */
internal data class ParsedEvent(val name: String, val id: String?, val data: String)

/** The error that ends the parsing of a stream. */
internal class EventParsingException(message: String) : Exception(message)

/**
 * Parses `text/event-stream` in pieces of any size (WHATWG HTML, section 9.2.6).
 *
 * It stores one unfinished line and one unfinished event, both of limited size.
 */
internal class EventParser(private val lineLimit: Int = 16 shl 20, private val eventLimit: Int = 32 shl 20) {
    /** The `Last-Event-ID` for a reconnection. It changes at the blank line of the event with the id. */
    var lastEventId = ""
        private set

    /** The stream's last valid `retry`, in milliseconds. */
    var retryMilliseconds: Long? = null
        private set

    private var failure: EventParsingException? = null
    private val line = Bytes()
    private var followsCarriageReturn = false

    /** The number of bytes of the byte order mark that were read; 3 after the start of the stream. */
    private var mark = 0

    private var name = ""
    private var id: String? = null
    private val data = Bytes()
    private var hasData = false

    /**
     * Parses the next bytes and returns the events that they complete, in order.
     *
     * Throws if a limit is exceeded, for good; the stream must be reopened. Events that the same bytes completed before
     * are returned first, and the next call throws.
     */
    fun feed(bytes: ByteArray): List<ParsedEvent> {
        failure?.let { throw it }
        val events = mutableListOf<ParsedEvent>()
        try {
            for (byte in bytes) read(byte, events)
        } catch (error: EventParsingException) {
            failure = error
            if (events.isEmpty()) throw error
        }
        return events
    }

    private fun read(byte: Byte, events: MutableList<ParsedEvent>) {
        if (mark < MARK.size) {
            if (byte == MARK[mark]) {
                mark += 1
                return
            }
            // The bytes of an incomplete mark belong to the first line.
            val count = mark
            mark = MARK.size
            for (index in 0 until count) read(MARK[index], events)
        }
        val isSecondOfTwo = followsCarriageReturn && byte == LF
        followsCarriageReturn = byte == CR
        when {
            isSecondOfTwo -> {}
            // A CR ends the line at once, since no LF may follow for a long time.
            byte == LF || byte == CR -> endLine(events)
            line.size >= lineLimit -> throw EventParsingException("The stream sent a line above $lineLimit bytes.")
            else -> line.add(byte)
        }
    }

    private fun endLine(events: MutableList<ParsedEvent>) {
        if (line.size == 0) return dispatch(events)
        val colon = line.indexOf(COLON)
        if (colon < 0) {
            process(line.text(0, line.size), line.size)
        } else {
            val start = if (colon + 1 < line.size && line[colon + 1] == BLANK) colon + 2 else colon + 1
            process(line.text(0, colon), start)
        }
        line.clear()
    }

    /** Processes a field whose value begins at an index of the line. Other fields and comments are ignored. */
    private fun process(field: String, start: Int) {
        when (field) {
            "data" -> {
                val length = data.size + line.size - start + if (hasData) 1 else 0
                if (length > eventLimit) {
                    throw EventParsingException("The stream sent an event above $eventLimit bytes.")
                }
                if (hasData) data.add(LF)
                data.add(line, start)
                hasData = true
            }
            "event" -> name = line.text(start, line.size)
            "id" -> line.text(start, line.size).let { if ('\u0000' !in it) id = it }
            "retry" -> {
                val digits = line.text(start, line.size)
                if (digits.all { it in '0'..'9' }) digits.toLongOrNull()?.let { retryMilliseconds = it }
            }
        }
    }

    private fun dispatch(events: MutableList<ParsedEvent>) {
        // The id is set before the test for data, so an id alone changes it as well.
        id?.let { lastEventId = it }
        if (hasData) events.add(ParsedEvent(name.ifEmpty { "message" }, id, data.text(0, data.size)))
        name = ""
        id = null
        data.clear()
        hasData = false
    }

    private companion object {
        val MARK = byteArrayOf(0xEF.toByte(), 0xBB.toByte(), 0xBF.toByte())
        const val LF = '\n'.code.toByte()
        const val CR = '\r'.code.toByte()
        const val COLON = ':'.code.toByte()
        const val BLANK = ' '.code.toByte()
    }
}
