/* The passes over data: what the Python side calls. */
#include <stdlib.h>

#include "images.h"
#include "layers.h"
#include "loss.h"
#include "update.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum status { FINE = 0, NO_SUCH_IMAGE = 1, NO_MEMORY = 2 };

void network_prepare(struct network *network, int images);

/* Denormal numbers are slow, and arise in the tails of momentum: take them for zero while here. */
static unsigned long flush_denormals(void) {
#if defined(__SSE2__)
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    return before;
#elif defined(__aarch64__)
    unsigned long before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | 1ul << 24));
    return before;
#else
    return 0;
#endif
}
static void restore_denormals(unsigned long before) {
#if defined(__SSE2__)
    _mm_setcsr((unsigned)before);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(before));
#else
    (void)before;
#endif
}

typedef void layer_function(const struct pass *pass, int layer);
static layer_function *const forwards[] = {
    [CONVOLUTION] = convolution_forward, [LINEAR] = linear_forward,           [RELU] = relu_forward,
    [MAX_POOL] = max_pool_forward,       [AVERAGE_POOL] = average_pool_forward, [ADDITION] = addition_forward,
    [PADDING] = padding_forward,         [MEAN] = mean_forward};
static layer_function *const backwards[] = {
    [CONVOLUTION] = convolution_backward, [LINEAR] = linear_backward,           [RELU] = relu_backward,
    [MAX_POOL] = max_pool_backward,       [AVERAGE_POOL] = average_pool_backward, [ADDITION] = addition_backward,
    [PADDING] = padding_backward,         [MEAN] = mean_backward};

static bool all_there(const struct source *source, const int64_t *which, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (which[i] < 0 || which[i] >= source->count) return false;
    return true;
}

/* The logits of a slice. */
static const struct value *forward(struct pass *pass, const struct source *source, const int64_t *which, int images) {
    struct network *network = pass->network;
    pass->images = images;
    network_prepare(network, images);
    gather_images(source, which, images, &network->values[0].activation);
    for (int i = 0; i < network->layer_count; i++) forwards[network->layers[i].kind](pass, i);
    return &network->values[network->layers[network->layer_count - 1].output];
}

static void labels_of(const struct source *source, const int64_t *which, int images, int64_t *labels) {
    for (int i = 0; i < images; i++) labels[i] = source->labels[which[i]];
}

static void begin(struct pass *pass, int64_t count, bool backward) {
    pass->widest = count < pass->network->slice ? (int)count : pass->network->slice;
    for (int i = 0; i < pass->network->layer_count; i++)
        if (pass->network->layers[i].kind == CONVOLUTION) convolution_begin(pass, i, backward);
}

/* The mean loss over a batch; its gradient is left in `pass->gradient`. The batch is cut into full slices and what
 * is left over, always in the same way. */
static double batch_gradient(struct pass *pass, const struct source *source, const int64_t *which, int64_t count) {
    struct network *network = pass->network;
    const float factor = 1 / (float)count;
    int64_t labels[network->slice];
    double loss = 0;
    memset(pass->gradient, 0, (size_t)pass->plan->count * sizeof(float));
    begin(pass, count, true);
    for (int64_t done = 0; done < count; done += network->slice) {
        int images = count - done < network->slice ? (int)(count - done) : network->slice;
        const struct value *logits = forward(pass, source, which + done, images);
        labels_of(source, which + done, images, labels);
        loss += cross_entropy(&logits->activation, &logits->gradient, images, labels, factor);
        for (int i = network->layer_count - 1; i >= 0; i--)
            if (network->values[network->layers[i].output].wanted) backwards[network->layers[i].kind](pass, i);
    }
    for (int i = 0; i < network->layer_count; i++)
        if (network->layers[i].kind == CONVOLUTION) convolution_end(pass, i);
    return loss / (double)count;
}

int32_t network_advance(struct network *network, const struct plan *plan, const struct source *source, float *weights, float *velocity,
                        const uint8_t *kept, const struct rule *rule, const float *rates, const int64_t *which,
                        const int64_t *counts, int64_t steps, float *gradient, float *losses) {
    int64_t total = 0;
    for (int64_t i = 0; i < steps; i++) total += counts[i];
    if (!all_there(source, which, total)) return NO_SUCH_IMAGE;
    unsigned long before = flush_denormals();
    struct pass pass = {.network = network, .plan = plan, .weights = weights, .gradient = gradient};
    for (int64_t i = 0; i < steps; which += counts[i++]) {
        losses[i] = (float)batch_gradient(&pass, source, which, counts[i]);
        update(rule, rates[i], plan->count, weights, gradient, velocity, kept);
    }
    restore_denormals(before);
    return FINE;
}

int32_t network_gradient(struct network *network, const struct plan *plan, const struct source *source, const float *weights,
                         const int64_t *which, int64_t count, float *gradient, double *loss) {
    if (!all_there(source, which, count)) return NO_SUCH_IMAGE;
    unsigned long before = flush_denormals();
    struct pass pass = {.network = network, .plan = plan, .weights = weights, .gradient = gradient};
    *loss = batch_gradient(&pass, source, which, count);
    restore_denormals(before);
    return FINE;
}

/* |gradient - centre|^2 over what is kept. Lanes are emptied into a double before their float32 sums grow inexact. */
static double squared_distance(const float *gradient, const float *centre, const uint8_t *kept, int64_t count) {
    double total = 0;
    for (int64_t first = 0; first < count; first += 64 * LANES) {
        const int64_t last = count - first < 64 * LANES ? count : first + 64 * LANES;
        vec sum = {0};
        int64_t i = first;
        for (; i + LANES <= last; i += LANES) {
            vec difference = load(gradient + i) - load(centre + i);
            if (kept) difference = keep(load_bytes(kept + i) != 0, difference);
            sum += difference * difference;
        }
        for (int lane = 0; lane < LANES; lane++) total += (double)sum[lane];
        for (; i < last; i++)
            if (!kept || kept[i]) total += (double)(gradient[i] - centre[i]) * (double)(gradient[i] - centre[i]);
    }
    return total;
}

int32_t network_deviations(struct network *network, const struct plan *plan, const struct source *source, const float *weights,
                           const uint8_t *kept, const float *centre, const int64_t *which, int64_t count,
                           float *gradient, double *deviations) {
    if (!all_there(source, which, count)) return NO_SUCH_IMAGE;
    unsigned long before = flush_denormals();
    struct pass pass = {.network = network, .plan = plan, .weights = weights, .gradient = gradient};
    for (int64_t i = 0; i < count; i++) {
        batch_gradient(&pass, source, which + i, 1);
        deviations[i] = squared_distance(gradient, centre, kept, plan->count);
    }
    restore_denormals(before);
    return FINE;
}

int32_t network_margins(struct network *network, const struct plan *plan, const struct source *source, const float *weights,
                        const int64_t *which, int64_t count, float *margins) {
    if (!all_there(source, which, count)) return NO_SUCH_IMAGE;
    unsigned long before = flush_denormals();
    struct pass pass = {.network = network, .plan = plan, .weights = weights};
    int64_t labels[network->slice];
    begin(&pass, count, false);
    for (int64_t done = 0; done < count; done += network->slice) {
        int images = count - done < network->slice ? (int)(count - done) : network->slice;
        const struct value *logits = forward(&pass, source, which + done, images);
        labels_of(source, which + done, images, labels);
        label_margins(&logits->activation, images, labels, margins + done);
    }
    restore_denormals(before);
    return FINE;
}
