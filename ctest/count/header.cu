#include "common/count/count.hpp"
#include <cub/cub.cuh>  //! @: cub/cub.cuh is not part of the model: leave it out
TILE_COUNT("never read") {}
