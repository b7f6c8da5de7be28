/* Softmax cross-entropy and margins of a slice's logits. */
#include "loss.h"

#include <math.h>

double cross_entropy(const struct plane *logits, const struct plane *gradient, int images, const int64_t *labels,
                     float factor) {
    const ptrdiff_t from_channel = channel_pitch(logits, images), to_channel = channel_pitch(gradient, images);
    const float *all = at(logits, images, 0, 0, 0);
    float *to_all = at(gradient, images, 0, 0, 0);
    double loss = 0;
    for (int n = 0; n < images; n++) {
        const float *from = all + n;
        float *to = to_all + n;
        float highest = from[0], sum = 0;
        for (int c = 1; c < logits->channels; c++)
            if (from[c * from_channel] > highest) highest = from[c * from_channel];
        for (int c = 0; c < logits->channels; c++) {
            float part = expf(from[c * from_channel] - highest);
            to[c * to_channel] = part;
            sum += part;
        }
        for (int c = 0; c < logits->channels; c++) {
            float probability = to[c * to_channel] / sum;
            to[c * to_channel] = (probability - (c == labels[n])) * factor;
        }
        loss += (double)(logf(sum) - (from[labels[n] * from_channel] - highest));
    }
    return loss;
}

void label_margins(const struct plane *logits, int images, const int64_t *labels, float *margins) {
    const ptrdiff_t channel = channel_pitch(logits, images);
    const float *all = at(logits, images, 0, 0, 0);
    for (int n = 0; n < images; n++) {
        float others = -INFINITY;
        for (int c = 0; c < logits->channels; c++) {
            float logit = all[n + c * channel];
            /* Written so that not-a-number is taken over and kept. */
            if (c != labels[n] && !(logit <= others) && others == others) others = logit;
        }
        margins[n] = all[n + labels[n] * channel] - others;
    }
}
