rootProject.name = "mvi-client"

dependencyResolutionManagement {
    repositories { mavenCentral() }
}
