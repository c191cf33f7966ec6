package mvi.client.connection

/** The ids of the labels that were delivered last, to detect repetitions. */
internal class SeenLabels {
    /** In the order of their arrival. */
    private val ids = LinkedHashSet<String>()

    /** Adds an id. Returns false if it is present already. */
    fun add(id: String): Boolean {
        if (!ids.add(id)) return false
        if (ids.size > LIMIT) ids.remove(ids.first())
        return true
    }

    private companion object {
        const val LIMIT = 1_000
    }
}
