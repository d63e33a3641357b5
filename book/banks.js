// What a warp's access costs in the 32 banks of shared memory: the rule of common/sim/rules.hpp again, for the pages.
// The test book.explorer holds it to what the hardware counted, as tests of the model do.
//
// An access is {words, wordsPerLane, load}: words[l] is the first 4-byte word that lane l wants, null for a lane that wants
// none; wordsPerLane is 1, 2 or 4. Narrower accesses were not measured, so there is no rule for them here.
//
// A tile's layout is {row, pad, swizzle}: the elements of a row, those left free after it, and how they are permuted. An
// element's offset is the number of elements before its place in the tile. A swizzle is null, {down, up, part}, which is
// col ^ (((row >> down) % part) << up), without a part all of row >> down, or CUTLASS's {B, M, S}.
"use strict";

const TileBanks = (() => {
  const banks = 32, warp = 32;

  /// The distance at which lanes l and l ^ distance want the same, so that a load merges two groups of lanes: 1, 2, or 0.
  function mergingDistance({ words, wordsPerLane, load }) {
    const agree = (word, other) => word === null || other === null || word === other;
    const merges = (distance) => words.every((word, lane) => agree(word, words[lane ^ distance]));
    return (load && wordsPerLane > 1 && [1, 2].find(merges)) || 0;
  }

  /// The lanes [first, first + lanes) by the word they want: a Map from word to lanes, the lowest word first.
  function lanesByWord(access, first, lanes) {
    const wanting = new Map();
    for (let lane = first; lane < first + lanes; ++lane) {
      if (access.words[lane] === null) continue;
      for (let i = 0; i < access.wordsPerLane; ++i) {
        const word = access.words[lane] + i;
        wanting.set(word, [...(wanting.get(word) || []), lane]);
      }
    }
    return new Map([...wanting].sort(([a], [b]) => a - b));
  }

  /// The fewest wavefronts that bring all words to a group of lanes: each an array of 32 that holds {word, lanes} at a bank
  /// that gives a word. Which word comes in which wavefront is our choice: by address.
  function wavefrontsOf(access, first, lanes) {
    const wavefronts = [], inBank = Array(banks).fill(0);
    for (const [word, wanting] of lanesByWord(access, first, lanes)) {
      const bank = word % banks;
      if (inBank[bank] === wavefronts.length) wavefronts.push(Array(banks).fill(null));
      wavefronts[inBank[bank]++][bank] = { word, lanes: wanting };
    }
    if (wavefronts.length === 0 && access.load) wavefronts.push(Array(banks).fill(null));  // measured: an idle group of a load
    return wavefronts;
  }

  /// The groups of lanes that are served together: {first, lanes, wavefronts}.
  function groupsOf(access) {
    const lanes = (warp / access.wordsPerLane) * (mergingDistance(access) ? 2 : 1);
    return Array.from({ length: warp / lanes }, (_, i) => ({
      first: i * lanes, lanes, wavefronts: wavefrontsOf(access, i * lanes, lanes),
    }));
  }

  /// How many wavefronts an access takes.
  const sharedWavefronts = (access) => groupsOf(access).reduce((sum, group) => sum + group.wavefronts.length, 0);

  /// The column of its row in which a swizzle puts an element; CUTLASS's permutes offsets, not columns.
  function swizzledColumn(swizzle, row, col) {
    if (swizzle === null || "B" in swizzle) return col;
    const shifted = row >> swizzle.down;
    return col ^ ((swizzle.part ? shifted % swizzle.part : shifted) << swizzle.up);
  }

  /// CUTLASS's Swizzle<B, M, S>: the B bits of an offset from bit M + S on flip those from bit M on. Its own inverse if S >= B.
  const swizzledOffset = (swizzle, offset) =>
    (swizzle !== null && "B" in swizzle ? offset ^ (((offset >> (swizzle.M + swizzle.S)) % (1 << swizzle.B)) << swizzle.M) : offset);

  /// The offset of an element of a tile.
  const offsetOf = (layout, { row, col }) =>
    swizzledOffset(layout.swizzle, row * (layout.row + layout.pad) + swizzledColumn(layout.swizzle, row, col));

  /// The element of a tile that lies at an offset: {row, col}.
  function placeOf(layout, offset) {
    const plain = swizzledOffset(layout.swizzle, offset), stride = layout.row + layout.pad, row = Math.floor(plain / stride);
    return { row, col: swizzledColumn(layout.swizzle, row, plain % stride) };
  }

  return { banks, warp, mergingDistance, wavefrontsOf, groupsOf, sharedWavefronts, swizzledColumn, offsetOf, placeOf };
})();
