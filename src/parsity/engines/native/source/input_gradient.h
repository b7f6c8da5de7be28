/* The gradient of a convolution's input. */
#ifndef PARSITY_INPUT_GRADIENT_H
#define PARSITY_INPUT_GRADIENT_H

#include "layers.h"

/* in.gradient (+)= the transposed convolution of `full`. */
void input_gradient(const struct pass *pass, int layer, const struct plane *full);
/* Does it leave out channels that are not alive, so that nothing of them need be in `full`? */
bool leaves_out_the_dead(const struct pass *pass, int layer);

#endif
