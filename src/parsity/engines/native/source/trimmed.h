/* Visits for the input's gradient that leave out what lies beside the output's: a column of the kernel meets but a part
 * of each row, and the vectors before and after it would meet zeros. */
#ifndef PARSITY_TRIMMED_H
#define PARSITY_TRIMMED_H

#include "sparse.h"

/* Vectors [first, end) of a row. */
struct trim {
    int first, end;
};

/* What each of `count` kernel columns meets of a row of `columns` positions, when position p meets position
 * p + from - k of an output `width` wide; return whether that is so little that trimming pays. */
bool trim_columns(int columns, int width, int from, int images, int count, struct trim *trims);

/* The most kernel columns, and the most rows of a tile. */
#define TRIMMED_COLUMNS 16
int trimmed_rows(void);
/* Add kernel rows [from, to) of `list_rows` in each kernel column of one part of the lists to a tile of rows: part p of
 * an output's list begins at start[p], a kernel row each. */
void visit_trimmed(const struct visit *visit, int row, int rows, int part, int columns, int list_rows, int from, int to,
                   const struct trim *trims, bool first);

#endif
