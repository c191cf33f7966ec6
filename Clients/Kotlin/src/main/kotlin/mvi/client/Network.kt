package mvi.client

import kotlinx.coroutines.flow.Flow

/**
 * The source of the network's availability. Without a network no attempts are made; when it returns, they are made at
 * once.
 */
fun interface Network {
    /** Returns the changes of the availability, beginning with the present one: true while there is a network. */
    fun availability(): Flow<Boolean>
}
