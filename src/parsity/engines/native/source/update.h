#ifndef PARSITY_UPDATE_H
#define PARSITY_UPDATE_H

#include <stdint.h>

enum optimiser { SGD = 0, MOMENTUM = 1, NESTEROV = 2 };

/* How weights follow gradients; `Rule` in library.py is its twin. */
struct rule {
    int32_t optimiser;
    float momentum, weight_decay;
};

/* One step over `count` numbers, in place. Where `kept` is given and zero, the weight is pruned and stays zero. */
void update(const struct rule *rule, float rate, int64_t count, float *weights, const float *gradient, float *velocity,
            const uint8_t *kept);

#endif
