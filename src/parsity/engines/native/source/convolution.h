/* What both directions of a convolution share. */
#ifndef PARSITY_CONVOLUTION_H
#define PARSITY_CONVOLUTION_H

#include "gather.h"
#include "layers.h"

#define MAXIMUM_TAPS 1024 /* of one kernel; tracing.py refuses more */

/* The tables of the forward direction, which the weight gradient shares; weights and output are the caller's. With a
 * stride along the row this also splits the input's rows. */
struct gather convolution_tables(const struct pass *pass, const struct layer *layer, struct tap *taps);

#endif
