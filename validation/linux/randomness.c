/* Randomness of the guest's kernel from a seed, in place of the host's: loaded before the C library.
   splitmix64 (Steele, Lea and Flood, 2014), which takes any seed. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

static uint64_t state;
static int begun;

static uint64_t draw(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	unsigned char *byte = buffer;
	const char *seed = getenv("TCPDYNAMICS_SEED");

	(void)flags;
	if (!begun) {
		state = seed ? strtoull(seed, NULL, 10) : 0;
		begun = 1;
	}
	for (size_t i = 0; i < length; i++)
		byte[i] = (unsigned char)(draw() >> 32);
	return (ssize_t)length;
}
