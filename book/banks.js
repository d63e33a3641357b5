// What a warp's access costs in the 32 banks of shared memory: the rule of common/model/rules.hpp again, for the pages.
// The test book.explorer holds it to what the hardware counted, and to the C++ rule.
//
// An access is {words, wordsPerLane, load}: words[l] is the first 4-byte word that lane l wants, null for a lane that wants
// none; wordsPerLane is 1, 2 or 4.
"use strict";

const TileBanks = (() => {
  const banks = 32, warp = 32;

  // Whether the lanes l and l ^ distance want the same, for every l.
  const pairsAgree = (access, distance) =>
    access.words.every((word, lane) => {
      const other = access.words[lane ^ distance];
      return word === null || other === null || word === other;
    });

  /// The distance at which neighbours agree, so that a load serves two groups of lanes together: 1, 2, or 0 for none.
  function mergingDistance(access) {
    if (!access.load || access.wordsPerLane === 1) return 0;
    return [1, 2].find((distance) => pairsAgree(access, distance)) || 0;
  }

  /// How many lanes are served together.
  function lanesTogether(access) {
    const group = warp / access.wordsPerLane;
    return mergingDistance(access) ? 2 * group : group;
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
    return wavefronts;
  }

  /// The groups of lanes that are served together, in turn: {first, lanes, wavefronts}.
  function groupsOf(access) {
    const lanes = lanesTogether(access);
    return Array.from({ length: warp / lanes }, (_, i) => ({
      first: i * lanes, lanes, wavefronts: wavefrontsOf(access, i * lanes, lanes),
    }));
  }

  /// How many wavefronts an access takes.
  const sharedWavefronts = (access) => groupsOf(access).reduce((sum, group) => sum + group.wavefronts.length, 0);

  /// The columns of a tile's row, swizzled: `swizzle` is null or {down, up}.
  const swizzled = (swizzle, row, col) => (swizzle ? col ^ ((row >> swizzle.down) << swizzle.up) : col);

  /// The word at which an element of a tile lies. `layout` is {row, pad, swizzle}: a row's words, those left free behind it.
  const wordOf = (layout, { row, col }) => row * (layout.row + layout.pad) + swizzled(layout.swizzle, row, col);

  /// The element of a tile that lies at a word: {row, col}.
  function placeOf(layout, word) {
    const stride = layout.row + layout.pad, row = Math.floor(word / stride);
    return { row, col: swizzled(layout.swizzle, row, word % stride) };
  }

  return { banks, warp, mergingDistance, lanesTogether, groupsOf, sharedWavefronts, swizzled, wordOf, placeOf };
})();
