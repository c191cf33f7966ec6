// Made by mvi-server 0.1.0 from the Swift types of its features (`types --kotlin`). Do not edit.
@file:Suppress("EnumEntryName", "unused")
@file:UseSerializers(DecimalSerializer::class, SecondsSerializer::class, InstantSerializer::class)

import java.math.BigDecimal
import java.math.RoundingMode
import java.time.Instant
import java.time.format.DateTimeFormatterBuilder
import java.time.format.DateTimeParseException
import kotlin.time.Duration
import kotlin.time.Duration.Companion.nanoseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import kotlinx.serialization.SerializationException
import kotlinx.serialization.UseSerializers
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.PrimitiveSerialDescriptor
import kotlinx.serialization.encoding.Decoder
import kotlinx.serialization.encoding.Encoder
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonDecoder
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonEncoder
import kotlinx.serialization.json.JsonUnquotedLiteral
import kotlinx.serialization.json.jsonPrimitive

/** JSON as the server reads and writes it. */
val mviJson = Json {
    classDiscriminator = "type"
    ignoreUnknownKeys = true
    explicitNulls = false
}

/** A number with its digits. */
@OptIn(ExperimentalSerializationApi::class)
object DecimalSerializer : KSerializer<BigDecimal> {
    override val descriptor = PrimitiveSerialDescriptor("Decimal", PrimitiveKind.DOUBLE)
    override fun serialize(encoder: Encoder, value: BigDecimal) =
        (encoder as JsonEncoder).encodeJsonElement(JsonUnquotedLiteral(value.toPlainString()))
    override fun deserialize(decoder: Decoder): BigDecimal =
        BigDecimal((decoder as JsonDecoder).decodeJsonElement().jsonPrimitive.content)
}

/** A number of seconds. Kotlin's durations have nanoseconds. */
@OptIn(ExperimentalSerializationApi::class)
object SecondsSerializer : KSerializer<Duration> {
    override val descriptor = PrimitiveSerialDescriptor("Seconds", PrimitiveKind.DOUBLE)
    override fun serialize(encoder: Encoder, value: Duration) {
        val seconds = value.toComponents { whole, nanoseconds ->
            BigDecimal.valueOf(whole).add(BigDecimal.valueOf(nanoseconds.toLong(), 9))
        }
        val text = seconds.stripTrailingZeros().toPlainString()
        (encoder as JsonEncoder).encodeJsonElement(JsonUnquotedLiteral(text))
    }
    override fun deserialize(decoder: Decoder): Duration {
        val seconds = BigDecimal((decoder as JsonDecoder).decodeJsonElement().jsonPrimitive.content)
        val whole = seconds.setScale(0, RoundingMode.DOWN)
        return whole.toLong().seconds + seconds.subtract(whole).movePointRight(9).toLong().nanoseconds
    }
}

/** A time as RFC 3339 text with milliseconds. */
object InstantSerializer : KSerializer<Instant> {
    override val descriptor = PrimitiveSerialDescriptor("Instant", PrimitiveKind.STRING)
    private val format = DateTimeFormatterBuilder().appendInstant(3).toFormatter()
    override fun serialize(encoder: Encoder, value: Instant) = encoder.encodeString(format.format(value))
    override fun deserialize(decoder: Decoder): Instant = try {
        Instant.parse(decoder.decodeString())
    } catch (error: DateTimeParseException) {
        throw SerializationException(error)
    }
}

object Values {
    const val NAME = "values"

    @Serializable
    data class State(
        val price: BigDecimal? = null,
        val prices: Map<String, BigDecimal>,
        val pause: Duration,
        val pauses: List<Duration?>,
        val start: Instant? = null,
        val times: List<Instant>,
        val date: Instant? = null,
        val link: String? = null,
        val id: String? = null,
    )

    @Serializable
    sealed interface Intent {
        @Serializable @SerialName("pay")
        data class Pay(
            val value: BigDecimal,
            val after: Duration,
        ) : Values.Intent
        @Serializable @SerialName("start")
        data class Start(
            val at: Instant? = null,
        ) : Values.Intent
    }

    @Serializable
    sealed interface Label {
        @Serializable @SerialName("paid")
        data class Paid(
            val value: BigDecimal,
        ) : Values.Label
    }
}
