package mvi.client.store

import kotlinx.coroutines.ExperimentalForInheritanceCoroutinesApi
import kotlinx.coroutines.flow.FlowCollector
import kotlinx.coroutines.flow.StateFlow

/** A state whose store is watched while it is collected. */
@OptIn(ExperimentalForInheritanceCoroutinesApi::class)
internal class WatchingFlow<Value>(
    private val values: StateFlow<Value>,
    private val feed: StoreFeed<*, *, *>,
) : StateFlow<Value> by values {
    override suspend fun collect(collector: FlowCollector<Value>): Nothing {
        feed.enter()
        try {
            values.collect(collector)
        } finally {
            feed.leave()
        }
    }
}
