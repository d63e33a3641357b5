// Whether a chapter's records are of its program, true to themselves, and true to what the book says of them.
#pragma once

namespace tile {

/// Prints a line for each thing that is wrong with the records and tunings of this chapter; returns 1 when there is one, else
/// 0. Of the reference GPU's record the hardware counters must equal the model's counts, but for the rows in differences.json.
int check_records();

}  // namespace tile
