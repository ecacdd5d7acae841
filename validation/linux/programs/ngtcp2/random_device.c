/* std::random_device of libstdc++ reads the processor's own random instructions, which no kernel controls. Loaded
   before it, these read the kernel's random numbers, which follow the seed of the run. */
#include <sys/random.h>

unsigned int _ZNSt13random_device9_M_getvalEv(void *self)
{
    unsigned int value = 0;
    (void)self;
    return getrandom(&value, sizeof value, 0) == sizeof value ? value : 0;
}
