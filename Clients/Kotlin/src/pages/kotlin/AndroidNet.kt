package android.net

class Network

class ConnectivityManager {
    val activeNetwork: Network? = null

    open class NetworkCallback {
        open fun onAvailable(network: Network) {}

        open fun onLost(network: Network) {}
    }

    fun registerDefaultNetworkCallback(callback: NetworkCallback) = callback.onAvailable(Network())

    fun unregisterNetworkCallback(callback: NetworkCallback) = callback.onLost(Network())
}
