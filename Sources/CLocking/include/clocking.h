#pragma once

#include <stdint.h>

/// Takes the lock in `word`, which is 0 at first, and waits for other threads. Never under the same lock.
void clocking_lock(uint32_t *_Nonnull word);

/// Releases the lock. Only by the thread that took it.
void clocking_unlock(uint32_t *_Nonnull word);

/// Changes the number of locks that the calling thread has of those of which it may have one at most, and returns it.
int clocking_count_held(int change);
