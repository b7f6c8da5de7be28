/* The weight gradient of a convolution that a 2 x 2 max-pool follows and whose input's gradient nobody asks for: lanes
 * stay along images, and each of them picks, of what the four positions of its window saw, what the winner saw. */
#ifndef PARSITY_WINNERS_BY_LANE_H
#define PARSITY_WINNERS_BY_LANE_H

#include "layers.h"

bool winners_by_lane_suit(const struct network *network, int layer);
/* Floats it needs for itself, per image. */
size_t winners_by_lane_scratch(const struct network *network, int layer);
/* Add to the layer's whole gradient; the dead are skipped. */
void winners_by_lane(const struct pass *pass, int layer);

#endif
