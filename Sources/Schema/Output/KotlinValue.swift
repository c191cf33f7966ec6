/// A type of Kotlin's or Java's library that needs a serializer in the source.
struct KotlinValue {
    /// Returns true for the types that are written as this one.
    let isFor: @Sendable (WireType) -> Bool
    let serializer: String
    let imports: [String]
    let code: String

    static let all = [decimal, duration, instant]

    private static let decimal = KotlinValue(
        isFor: { $0 == .decimal }, serializer: "DecimalSerializer",
        imports: ["java.math.BigDecimal"] + numbers,
        code: """
            /** A number with its digits. */
            @OptIn(ExperimentalSerializationApi::class)
            object DecimalSerializer : KSerializer<BigDecimal> {
                override val descriptor = PrimitiveSerialDescriptor("Decimal", PrimitiveKind.DOUBLE)
                override fun serialize(encoder: Encoder, value: BigDecimal) =
                    (encoder as JsonEncoder).encodeJsonElement(JsonUnquotedLiteral(value.toPlainString()))
                override fun deserialize(decoder: Decoder): BigDecimal =
                    BigDecimal((decoder as JsonDecoder).decodeJsonElement().jsonPrimitive.content)
            }
            """)

    private static let duration = KotlinValue(
        isFor: { $0 == .duration }, serializer: "SecondsSerializer",
        imports: [
            "java.math.BigDecimal", "java.math.RoundingMode", "kotlin.time.Duration",
            "kotlin.time.Duration.Companion.nanoseconds", "kotlin.time.Duration.Companion.seconds",
        ] + numbers,
        code: """
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
            """)

    private static let instant = KotlinValue(
        isFor: { $0 == .string(format: "date-time") }, serializer: "InstantSerializer",
        imports: [
            "java.time.Instant", "java.time.format.DateTimeFormatterBuilder", "java.time.format.DateTimeParseException",

            "kotlinx.serialization.SerializationException",
        ],
        code: """
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
            """)

    private static let numbers = [
        "kotlinx.serialization.ExperimentalSerializationApi", "kotlinx.serialization.json.JsonDecoder",
        "kotlinx.serialization.json.JsonEncoder", "kotlinx.serialization.json.JsonUnquotedLiteral",
        "kotlinx.serialization.json.jsonPrimitive",
    ]
}
