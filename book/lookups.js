// The lookup explorer: a figure of class "lookups" steps through the lanes of an access to global memory, and shows which line,
// sector, tag bank and data bank each lane's words are in, and what the access costs L1. It starts from an access that a kernel's
// trace has (the page carries it as data, see book/weave/explorer.lua); the reader may choose another, and move the rows of the matrix.
// Without this script the figure is a picture of that access, and so it is on paper.
"use strict";

/// The rule of common/sim/rules.hpp for global memory again, for the pages. The test book.lookups holds it to what the hardware counted.
/// An access is {words, wordsPerLane, load}, as banks.js has it; words count from the beginning of the matrix.
const TileLines = (() => {
  const wordsOfSector = 8, wordsOfLine = 32;

  /// The numbers of the blocks of `size` words that an access touches, in order.
  function blocks(access, size) {
    const touched = new Set();
    for (const word of access.words)
      for (let i = 0; word !== null && i < access.wordsPerLane; ++i) touched.add(Math.floor((word + i) / size));
    return [...touched].sort((a, b) => a - b);
  }
  const sectors = (access) => blocks(access, wordsOfSector), lines = (access) => blocks(access, wordsOfLine);

  /// Whether an odd number of a number's bits is set: 0 or 1.
  const parity = (number) => number.toString(2).replaceAll("0", "").length % 2;

  /// The bank of L1's tags, 0 to 3, that looks up a line.
  const tagBank = (line) => 2 * parity(line & 0x5ef7ab5) + parity(line & 0xebad5da);

  /// How many lines the fullest of the tag banks must look up.
  function tagPasses(access) {
    const inBank = [0, 0, 0, 0];
    for (const line of lines(access)) ++inBank[tagBank(line)];
    return Math.max(...inBank);
  }

  /// The wavefronts of the data: as in shared memory, but neighbouring groups of lanes are not served together.
  function wavefronts(access) {
    const lanes = TileBanks.warp / access.wordsPerLane;
    const groups = [...Array(access.wordsPerLane).keys()];
    return groups.flatMap((i) => TileBanks.wavefrontsOf(access, i * lanes, lanes)).length;
  }

  return { wordsOfSector, wordsOfLine, sectors, lines, tagBank, tagPasses, wavefronts };
})();

(() => {
  const { element, labelled, plural, number, rect, text, tracesOf, live } = TileControls;

  const swatch = (colour, opacity = 1) => element("i", { class: "swatch", style: `background: var(--${colour}); opacity: ${opacity}` });

  /// The access of a trace whose matrix has rows `ld` words apart instead.
  function moved(trace, ld) {
    const at = (word) => (word === null ? null : Math.floor(word / trace.ld) * ld + (word % trace.ld));
    return { words: trace.words.map(at), wordsPerLane: trace.bytes / 4, load: trace.op === "load" };
  }

  // Where parts of the picture stand, with room for words, or on a narrow page.
  const wide = { left: 92, cell: 15, right: 96, words: "words in a bank" };
  const narrow = { left: 42, cell: 8.5, right: 24, words: "words" };
  const top = 24;

  /// A row for each line, 32 words wide, with its tag bank; below, the banks of the data. What belongs to `lane` is marked.
  function drawn(array, access, lane, { left, cell, right, words }) {
    const spelled = cell === wide.cell;  // else the names of columns stand above them
    const numbers = TileLines.lines(access), touched = new Set(TileLines.sectors(access)), dense = numbers.length > 8;
    const height = dense ? 13 : 18, own = new Set(), all = new Set(), end = left + 32 * cell;
    access.words.forEach((word, l) => {
      for (let i = 0; word !== null && i < access.wordsPerLane; ++i) (l === lane ? own : all).add(word + i);
    });
    let out = "", y = top;
    for (let sector = 0; sector < 4; ++sector)
      out += text(left + (8 * sector + 4) * cell, 14, `sector ${sector}`, "middle", "var(--muted)");
    if (!spelled) out += text(left - 6, 14, "line", "end", "var(--muted)") + text(end + 4, 14, "tag", "start", "var(--muted)");
    for (const line of numbers) {
      const begin = line * TileLines.wordsOfLine;
      for (let sector = 0; sector < 4; ++sector)
        out += rect(left + 8 * sector * cell, y, 8 * cell, height - 2, touched.has(4 * line + sector) ? "var(--third)" : "none",
                       "var(--rule)", "", 0.35);
      for (let i = 0; i < TileLines.wordsOfLine; ++i)
        if (own.has(begin + i) || all.has(begin + i))
          out += rect(left + i * cell + 0.5, y + 0.5, cell - 1, height - 3, own.has(begin + i) ? "var(--second)" : "var(--accent)");
      const bank = TileLines.tagBank(line);
      const ink = [...own].some((word) => Math.floor(word / TileLines.wordsOfLine) === line) ? "var(--second)" : "var(--ink)";
      out += text(left - 6, y + height - 4, spelled ? `${array} line ${line}` : line, "end", ink);
      out += text(end + 8, y + height - 4, spelled ? `tag bank ${bank}` : bank, "start", ink);
      y += height;
    }
    // The data: how many different words each bank must give.
    const inBank = Array(TileBanks.banks).fill(0);
    for (const word of new Set([...own, ...all])) ++inBank[word % TileBanks.banks];
    const most = Math.max(...inBank), unit = Math.min(8, 64 / most), base = y + 22 + most * unit;
    inBank.forEach((count, bank) => {
      const marked = [...own].some((word) => word % TileBanks.banks === bank);
      if (count > 0)
        out += rect(left + bank * cell + 0.5, base - count * unit, cell - 1, count * unit, marked ? "var(--second)" : "var(--accent)");
      if (bank % 4 === 0 || bank === TileBanks.banks - 1)
        out += text(left + (bank + 0.5) * cell, base + 15, bank, "middle", "var(--muted)");
    });
    out += text(left + (inBank.indexOf(most) + 0.5) * cell, base - most * unit - 4, most, "middle", "var(--muted)");
    out += text(left - 6, base, words, "end") + text(left - 6, base + 15, "bank", "end", "var(--muted)");
    const width = end + right;
    return `<svg viewBox="0 0 ${width} ${base + 22}" style="--natural: ${width}px; --legible: ${width}px" role="img" ` +
           `aria-label="The lines that the access touches, and the banks that its words are in; the text above says where the lane is.">${out}</svg>`;
  }

  /// What the access costs.
  function cost(access) {
    const passes = TileLines.tagPasses(access), wavefronts = TileLines.wavefronts(access);
    const together = access.load ? `${plural(Math.max(passes, wavefronts), "cycle")} of L1, the larger of the two`
                                 : "a store to many lines may take more than that";
    return `${plural(TileLines.lines(access).length, "line")}, ${plural(TileLines.sectors(access).length, "sector")}. ` +
           `${plural(passes, "pass")} of the tags, ${plural(wavefronts, "wavefront")} of the data: ${together}.`;
  }

  /// Where a lane's first word is.
  function whereabouts(trace, access, lane, ld) {
    const word = access.words[lane];
    if (word === null) return `Lane ${lane} takes no part.`;
    const line = Math.floor(word / TileLines.wordsOfLine);
    return `Lane ${lane}: row ${Math.floor(word / ld)}, column ${word % ld} of ${trace.array}; line ${line}, sector ` +
           `${Math.floor(word / TileLines.wordsOfSector) % 4}, tag bank ${TileLines.tagBank(line)}, data bank ${word % TileBanks.banks}.`;
  }

  function start(figure) {
    const traces = tracesOf(figure);
    const choice = element("select", {}, ...traces.map((trace, i) => element("option", { value: i }, trace.title)));
    const ld = number(1, 65536);
    const lane = element("input", { type: "range", min: 0, max: TileBanks.warp - 1, step: 1, value: 0 });
    const layout = () => (figure.clientWidth < wide.left + 32 * wide.cell + wide.right ? narrow : wide);
    let shown = wide;

    function show() {
      shown = layout();
      const trace = traces[choice.value], widest = Math.max(...trace.words.map((word) => (word || 0) % trace.ld)) + trace.bytes / 4;
      const apart = ld.valueAsNumber;
      if (!ld.checkValidity() || apart < widest || apart % (trace.bytes / 4) !== 0)
        return say("Which number?", `Rows may be ${widest} to 65536 words apart` +
          (trace.bytes > 4 ? `, in multiples of the ${trace.bytes / 4} words of a lane.` : "."));
      const access = moved(trace, apart), chosen = lane.valueAsNumber;
      say(cost(access), whereabouts(trace, access, chosen, apart), drawn(trace.array, access, chosen, shown));
    }
    function asTraced() {
      ld.value = traces[choice.value].ld;
      show();
    }
    const form = element("form", { submit: (event) => event.preventDefault() },
      element("div", { class: "controls" }, labelled("access", choice), labelled("words from row to row", ld), labelled("lane", lane),
        element("button", { type: "button", click: asTraced }, "As traced")),
      element("p", {}, swatch("second"), "words of the chosen lane; ", swatch("accent"), "those of the others; ", swatch("third", 0.35),
        "the rest of the sectors that are touched. Below: how many of the words are in each bank."));
    choice.addEventListener("input", asTraced);
    for (const control of [ld, lane]) control.addEventListener("input", show);
    const say = live(figure, form, "lines and banks");
    asTraced();
    new ResizeObserver(() => layout() !== shown && show()).observe(figure);
  }

  document.querySelectorAll("figure.lookups").forEach(start);
})();
