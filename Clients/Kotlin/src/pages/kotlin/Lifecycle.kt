package androidx.lifecycle

import androidx.compose.runtime.State
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.StateFlow

open class ViewModel

interface LifecycleObserver

interface DefaultLifecycleObserver : LifecycleObserver {
    fun onStart(owner: LifecycleOwner) {}
}

abstract class Lifecycle {
    enum class State { CREATED, STARTED, RESUMED }

    abstract fun addObserver(observer: LifecycleObserver)
}

interface LifecycleOwner {
    val lifecycle: Lifecycle
}

class ProcessLifecycleOwner(override val lifecycle: Lifecycle) : LifecycleOwner {
    companion object {
        fun get(): LifecycleOwner = throw UnsupportedOperationException()
    }
}

suspend fun LifecycleOwner.repeatOnLifecycle(state: Lifecycle.State, block: suspend CoroutineScope.() -> Unit) {
    if (state >= Lifecycle.State.STARTED) coroutineScope(block)
}

/** In `androidx.lifecycle.compose`. */
fun <Value> StateFlow<Value>.collectAsStateWithLifecycle(): State<Value> = State(value)
