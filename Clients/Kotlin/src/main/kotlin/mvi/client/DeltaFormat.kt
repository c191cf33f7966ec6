package mvi.client

/** The format of state changes that the server may send. */
enum class DeltaFormat(internal val query: String) {
    /** JSON Patch, RFC 6902. */
    JSON_PATCH("json-patch"),

    /** JSON Merge Patch, RFC 7396. */
    MERGE_PATCH("merge-patch"),
}
