/* What one replica's mask makes of a network: which layers visit their surviving weights only, and the lists they
 * visit them by. The parameter vector of a replica holds, in the network's own order, all weights of most layers, but
 * of the sparsest the survivors only; biases are always there. */
#ifndef PARSITY_PLAN_H
#define PARSITY_PLAN_H

#include "native.h"

/* Survivors sorted by output, input channel, tap. Positions are counted in pixels, so they serve any slice. */
struct survivors {
    int32_t *start;    /* [output][input channel], and one more at the end */
    int32_t *position; /* of the input it meets, from the first one of its output */
    int32_t *entry;    /* where it is among the layer's weights */
};

/* The same for the input's gradient, sorted by phase of the strides, input channel, block of outputs, column of the
 * kernel if visits are to be trimmed, row of the kernel: what a tile of rows needs of a block is one run, or one for
 * each column. */
struct transposed {
    int block, blocks; /* outputs in a block; blocks */
    int columns, rows; /* of the kernel in a phase; one column stands for all of them if nothing is trimmed */
    int32_t *start;    /* [phase][input channel][block][column][row], and one more at the end */
    int32_t *position; /* of the gradient it meets */
    int32_t *source;   /* which survivor it is */
    int32_t *output;   /* whose gradient it meets */
};
/* At most so many runs, whatever the mask. */
size_t transposed_runs(const struct network *network, int layer);

/* Rows in a tile of the input's gradient. */
int transposed_rows(int row_floats, int inputs);

struct layer_plan {
    int64_t weights, bias; /* where they begin in the replica's parameter vector; -1: no bias, or none that survives */
    int64_t count;         /* survivors */
    double density;
    bool listed; /* there are lists, so that passes may be sparse */
    bool packed; /* the vector holds survivors only */
    struct survivors survivors;
    struct transposed transposed;
};

/* Which passes of a layer visit survivors, for slices of so many images; the others work on a dense copy. */
struct passes {
    bool forward, input, weight;
};

struct plan {
    int64_t count;
    int64_t *index; /* for each number of the vector, which of the network's parameters it is */
    int layer_count;
    struct layer_plan *layers;
};

struct passes plan_passes(const struct network *network, const struct plan *plan, int layer, int images);

#endif
