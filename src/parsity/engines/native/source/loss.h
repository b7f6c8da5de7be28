#ifndef PARSITY_LOSS_H
#define PARSITY_LOSS_H

#include "native.h"

/* The sum of the losses of a slice; its gradient times `factor` goes to `gradient`. */
double cross_entropy(const struct plane *logits, const struct plane *gradient, int images, const int64_t *labels,
                     float factor);

/* The label's logit less the highest of the others; not-a-number where a logit is. */
void label_margins(const struct plane *logits, int images, const int64_t *labels, float *margins);

#endif
