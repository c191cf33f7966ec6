// Made by mvi-server 0.1.0 from the Swift types of its features (`types --kotlin`). Do not edit.
@file:Suppress("EnumEntryName", "unused")

import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement

/** JSON as the server reads and writes it. */
val mviJson = Json {
    classDiscriminator = "type"
    ignoreUnknownKeys = true
    explicitNulls = false
}

/** A number to count up and down, or to load. */
object Counter {
    const val NAME = "counter"

    @Serializable
    data class State(
        val count: Long,
        val isLoading: Boolean,
    )

    @Serializable
    sealed interface Intent {
        @Serializable @SerialName("increment")
        data object Increment : Counter.Intent
        @Serializable @SerialName("decrement")
        data object Decrement : Counter.Intent
        @Serializable @SerialName("add")
        data class Add(
            val amount: Long,
        ) : Counter.Intent
        @Serializable @SerialName("load")
        data object Load : Counter.Intent
    }

    @Serializable
    sealed interface Label {
        @Serializable @SerialName("milestone")
        data class Milestone(
            val count: Long,
        ) : Counter.Label
        @Serializable @SerialName("toast")
        data class Toast(
            val text: String,
        ) : Counter.Label
    }
}

/** Conference videos, with a number of views that arrives on its own. */
object VideoList {
    const val NAME = "video-list"

    @Serializable
    data class State(
        val status: Shared.LoadStatus,
        val summary: String? = null,
        val views: String? = null,
        val error: String? = null,
        val videos: List<VideoList.Row>,
    )

    @Serializable
    sealed interface Intent {
        @Serializable @SerialName("onAppear")
        data object OnAppear : VideoList.Intent
        @Serializable @SerialName("retry")
        data object Retry : VideoList.Intent
        @Serializable @SerialName("tapVideo")
        data class TapVideo(
            val id: Long,
        ) : VideoList.Intent
    }

    @Serializable
    sealed interface Label {
        @Serializable @SerialName("openVideo")
        data class OpenVideo(
            val title: String,
            val url: String,
        ) : VideoList.Label
        @Serializable @SerialName("toast")
        data class Toast(
            val text: String,
        ) : VideoList.Label
    }

    @Serializable
    data class Row(
        val id: Long,
        val title: String,
        val subtitle: String,
        val duration: String,
    )
}

/** The signed-in user, loaded at once, with an error state and a reload. */
object UserInfo {
    const val NAME = "user-info"

    @Serializable
    data class State(
        val status: UserInfo.Status,
        val profile: UserInfo.Profile? = null,
        val error: String? = null,
    )

    @Serializable
    sealed interface Intent {
        @Serializable @SerialName("load")
        data object Load : UserInfo.Intent
        @Serializable @SerialName("reload")
        data object Reload : UserInfo.Intent
    }

    @Serializable
    sealed interface Label {
        @Serializable @SerialName("toast")
        data class Toast(
            val text: String,
        ) : UserInfo.Label
    }

    @Serializable
    data class Profile(
        val name: String,
        val initials: String,
        val email: String,
        val phone: String? = null,
        val city: String,
        val membership: String,
    )

    @Serializable
    enum class Status {
        @SerialName("loading") loading,
        @SerialName("content") content,
        @SerialName("error") error,
    }
}

/** A lesson: where and when, and the place booked in it. */
object LessonDetail {
    const val NAME = "lesson-detail"

    @Serializable
    data class State(
        val status: Shared.LoadStatus,
        val lesson: LessonDetail.Content? = null,
        val progress: String? = null,
        val error: String? = null,
    )

    @Serializable
    sealed interface Intent {
        @Serializable @SerialName("onAppear")
        data object OnAppear : LessonDetail.Intent
        @Serializable @SerialName("tapConfirmCancelEnrollment")
        data object TapConfirmCancelEnrollment : LessonDetail.Intent
        @Serializable @SerialName("tapEnrollAgain")
        data object TapEnrollAgain : LessonDetail.Intent
        @Serializable @SerialName("resendConfirmation")
        data object ResendConfirmation : LessonDetail.Intent
        @Serializable @SerialName("tapOpenMaps")
        data object TapOpenMaps : LessonDetail.Intent
        @Serializable @SerialName("tapAddToCalendar")
        data object TapAddToCalendar : LessonDetail.Intent
    }

    @Serializable
    sealed interface Label {
        @Serializable @SerialName("dismiss")
        data class Dismiss(
            val reason: String,
        ) : LessonDetail.Label
        @Serializable @SerialName("openMaps")
        data class OpenMaps(
            val name: String,
            val latitude: Double,
            val longitude: Double,
        ) : LessonDetail.Label
        @Serializable @SerialName("addToCalendar")
        data class AddToCalendar(
            val title: String,
            val location: String,
            val startsAt: String,
            val endsAt: String,
        ) : LessonDetail.Label
        @Serializable @SerialName("toast")
        data class Toast(
            val text: String,
        ) : LessonDetail.Label
    }

    @Serializable
    data class Content(
        val title: String,
        val subtitle: String,
        val date: String,
        val time: String,
        val price: String,
        val venue: String,
        val address: String,
        val places: String,
        val isEnrolled: Boolean,
    )
}

/** An order in four sections that load on their own. */
object OrderDetail {
    const val NAME = "order-detail"

    @Serializable
    data class State(
        val id: String,
        val status: OrderDetail.SectionViewOfStatusSectionContent,
        val infoCard: OrderDetail.SectionViewOfInfoCardSectionContent,
        val fee: OrderDetail.SectionViewOfFeeSectionContent,
        val scheduling: OrderDetail.SectionViewOfSchedulingSectionContent,
    )

    @Serializable
    sealed interface Intent {
        @Serializable @SerialName("statusButton")
        data class StatusButton(
            val actionId: String,
        ) : OrderDetail.Intent
        @Serializable @SerialName("refreshAllData")
        data object RefreshAllData : OrderDetail.Intent
        @Serializable @SerialName("retrySection")
        data class RetrySection(
            val section: OrderDetail.Section,
        ) : OrderDetail.Intent
    }

    @Serializable
    sealed interface Label {
        @Serializable @SerialName("toast")
        data class Toast(
            val text: String,
        ) : OrderDetail.Label
    }

    @Serializable
    data class Button(
        val actionId: String,
        val title: String,
        val isEnabled: Boolean,
    )

    @Serializable
    data class FeeSectionContent(
        val lines: List<OrderDetail.Line>,
        val total: String,
    )

    @Serializable
    data class InfoCardSectionContent(
        val customer: String,
        val phone: String,
        val address: String,
        val subject: String,
        val notes: String? = null,
    )

    @Serializable
    data class Line(
        val text: String,
        val amount: String,
    )

    @Serializable
    data class SchedulingSectionContent(
        val date: String,
        val time: String,
        val technician: String,
    )

    @Serializable
    enum class Section {
        @SerialName("status") status,
        @SerialName("infoCard") infoCard,
        @SerialName("fee") fee,
        @SerialName("scheduling") scheduling,
    }

    @Serializable
    data class SectionViewOfFeeSectionContent(
        val status: Shared.LoadStatus,
        val error: String? = null,
        val content: OrderDetail.FeeSectionContent? = null,
    )

    @Serializable
    data class SectionViewOfInfoCardSectionContent(
        val status: Shared.LoadStatus,
        val error: String? = null,
        val content: OrderDetail.InfoCardSectionContent? = null,
    )

    @Serializable
    data class SectionViewOfSchedulingSectionContent(
        val status: Shared.LoadStatus,
        val error: String? = null,
        val content: OrderDetail.SchedulingSectionContent? = null,
    )

    @Serializable
    data class SectionViewOfStatusSectionContent(
        val status: Shared.LoadStatus,
        val error: String? = null,
        val content: OrderDetail.StatusSectionContent? = null,
    )

    @Serializable
    data class StatusSectionContent(
        val title: String,
        val detail: String,
        val buttons: List<OrderDetail.Button>,
        val progress: String? = null,
    )
}

/** A list that everybody shares, one for each key. */
object Checklist {
    const val NAME = "checklist"

    @Serializable
    data class State(
        val items: List<Checklist.Item>,
        val added: Long,
    )

    @Serializable
    sealed interface Intent {
        @Serializable @SerialName("add")
        data class Add(
            val text: String,
        ) : Checklist.Intent
        @Serializable @SerialName("check")
        data class Check(
            val id: Long,
            val isDone: Boolean,
        ) : Checklist.Intent
        @Serializable @SerialName("remove")
        data class Remove(
            val id: Long,
        ) : Checklist.Intent
        @Serializable @SerialName("clear")
        data object Clear : Checklist.Intent
    }

    @Serializable
    sealed interface Label {
        @Serializable @SerialName("cleared")
        data class Cleared(
            val count: Long,
            val by: String,
        ) : Checklist.Label
    }

    @Serializable @JvmInline value class Presence(val value: String)

    @Serializable
    data class Item(
        val id: Long,
        val text: String,
        val addedBy: String,
        val checkedBy: String? = null,
    )
}

/** Types of several features. */
object Shared {
    @Serializable
    enum class LoadStatus {
        @SerialName("empty") empty,
        @SerialName("loading") loading,
        @SerialName("content") content,
        @SerialName("error") error,
    }
}
