// Stand-ins for the parts of Android that the pages use, so that their code is compiled without its SDK.
package android.app

import android.content.Context

open class Application : Context() {
    open fun onCreate() {}
}
