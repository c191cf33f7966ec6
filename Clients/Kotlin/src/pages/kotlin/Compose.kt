package androidx.compose.runtime

import androidx.lifecycle.LifecycleOwner
import kotlin.reflect.KProperty
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.runBlocking

annotation class Composable

class State<Value>(val value: Value) {
    operator fun getValue(owner: Any?, property: KProperty<*>): Value = value
}

fun LaunchedEffect(key: Any?, block: suspend CoroutineScope.() -> Unit) {
    if (key != null) runBlocking { block() }
}

/** In `androidx.lifecycle.compose`. */
object LocalLifecycleOwner {
    val current: LifecycleOwner get() = throw UnsupportedOperationException()
}

/** In `androidx.compose.material3`. */
fun Button(onClick: () -> Unit, content: () -> Unit) {
    content()
    onClick()
}

fun Text(text: String) = println(text)
