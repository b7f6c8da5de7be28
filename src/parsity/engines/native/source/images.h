#ifndef PARSITY_IMAGES_H
#define PARSITY_IMAGES_H

#include "native.h"

/* Put images `which[0 .. images)`, normalised, into a plane. */
void gather_images(const struct source *source, const int64_t *which, int images, const struct plane *plane);

#endif
