/* The optimisers of the protocol, fused with weight decay and the mask. */
#include "update.h"

#include "vector.h"

INLINE void step(const struct rule *rule, vec rate, float *weights, const float *gradient, float *velocity,
                 const uint8_t *kept, int lanes, int optimiser) {
    vec weight = load_lanes(weights, lanes), g = load_lanes(gradient, lanes);
    g += rule->weight_decay * weight;
    if (kept) g = keep(load_bytes(kept) != 0, g);
    if (optimiser != SGD) {
        vec v = rule->momentum * load_lanes(velocity, lanes) + g;
        store_lanes(velocity, v, lanes);
        g = optimiser == MOMENTUM ? v : g + rule->momentum * v;
    }
    store_lanes(weights, weight - rate * g, lanes);
}

INLINE void steps(const struct rule *rule, float rate, int64_t count, float *weights, const float *gradient,
                  float *velocity, const uint8_t *kept, int optimiser) {
    const int64_t whole = count / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES)
        step(rule, splat(rate), weights + i, gradient + i, velocity ? velocity + i : NULL, kept ? kept + i : NULL,
             LANES, optimiser);
    if (whole == count) return;
    uint8_t last[LANES] = {0};
    if (kept) memcpy(last, kept + whole, (size_t)(count - whole));
    step(rule, splat(rate), weights + whole, gradient + whole, velocity ? velocity + whole : NULL, kept ? last : NULL,
         (int)(count - whole), optimiser);
}

void update(const struct rule *rule, float rate, int64_t count, float *weights, const float *gradient, float *velocity,
            const uint8_t *kept) {
    if (rule->optimiser == SGD)
        steps(rule, rate, count, weights, gradient, NULL, kept, SGD);
    else if (rule->optimiser == MOMENTUM)
        steps(rule, rate, count, weights, gradient, velocity, kept, MOMENTUM);
    else
        steps(rule, rate, count, weights, gradient, velocity, kept, NESTEROV);
}
