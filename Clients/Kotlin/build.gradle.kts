// The client as a library of the JVM, which Android projects use too: copy this folder, or name it with `includeBuild`.
//
// The project's own tests have no Gradle. They build with Clients/Kotlin/build: Kotlin 2.3.10-RC, coroutines 1.10.2,
// serialization 1.9.0 and OkHttp 3.13.1. What differs in OkHttp 4 and 5 for callers in Kotlin is called from Java.
plugins {
    kotlin("jvm") version "2.2.20"
    // Only the tests have serializable types of their own.
    kotlin("plugin.serialization") version "2.2.20"
    `java-library`
}

group = "mvi"
version = "0.1.0"

dependencies {
    api("org.jetbrains.kotlinx:kotlinx-coroutines-core:1.10.2")
    api("org.jetbrains.kotlinx:kotlinx-serialization-json:1.9.0")
    // Its builder is a parameter of OkHttpTransport.
    api("com.squareup.okhttp3:okhttp:4.12.0")
}

kotlin {
    compilerOptions { jvmTarget = org.jetbrains.kotlin.gradle.dsl.JvmTarget.JVM_11 }
}

java {
    sourceCompatibility = JavaVersion.VERSION_11
    targetCompatibility = JavaVersion.VERSION_11
}

// The driver sees what is internal, as the tests do.
sourceSets { test { kotlin.srcDir("src/driver/kotlin") } }

val clientTest by tasks.registering(JavaExec::class) {
    description = "Runs the tests, which need no framework."
    classpath = sourceSets.test.get().runtimeClasspath
    mainClass = "mvi.client.testing.MainKt"
    // The vectors of all clients are there.
    environment("MVI_ROOT", layout.projectDirectory.dir("../..").asFile.path)
}

tasks.check { dependsOn(clientTest) }
