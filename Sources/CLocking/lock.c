#define _GNU_SOURCE
#include "clocking.h"

#ifdef __APPLE__
#include <os/lock.h>

void clocking_lock(uint32_t *word) { os_unfair_lock_lock((os_unfair_lock_t)word); }

void clocking_unlock(uint32_t *word) { os_unfair_lock_unlock((os_unfair_lock_t)word); }
#else
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

// A mutex over a futex ("mutex2" in Drepper, Futexes Are Tricky), not recursive; it wakes threads in no order.
enum { is_free, is_taken, has_waiters };

void clocking_lock(uint32_t *word) {
    uint32_t found = is_free;
    if (__atomic_compare_exchange_n(word, &found, is_taken, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
    // Whoever waited may not be the only one.
    while (__atomic_exchange_n(word, has_waiters, __ATOMIC_ACQUIRE) != is_free) {
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, has_waiters, NULL);
    }
}

void clocking_unlock(uint32_t *word) {
    // The memory may be freed after this: waking an address that nobody waits at does nothing.
    if (__atomic_exchange_n(word, is_free, __ATOMIC_RELEASE) == has_waiters) {
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1);
    }
}
#endif

int clocking_count_held(int change) {
    static _Thread_local int held;
    return held += change;
}
