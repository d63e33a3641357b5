// The bank explorer: a figure of class "explorer" whose access to shared memory the reader can change. It starts from an
// access that a kernel's trace has (the page carries it as data, see book/weave/explorer.lua) and counts by the rule in banks.js.
// Without this script the figure is a picture of that access, and so it is on paper.
"use strict";

(() => {
  const { element, labelled, plural, number, rect, text, tracesOf, live } = TileControls;

  // Lane maps that come from no trace: where lane l begins, if each lane takes `elements` and a row has `row`.
  const plainMaps = {
    rows: { title: "lane after lane, along the rows",
      place: (lane, elements, row) => ({ row: Math.floor((lane * elements) / row), col: (lane * elements) % row }) },
    column: { title: "one column, a row each", place: (lane) => ({ row: lane, col: 0 }) },
    same: { title: "the same place for all", place: () => ({ row: 0, col: 0 }) },
  };

  // The swizzles offered: the numbers that each takes, and what it is to banks.js.
  const swizzles = {
    none: { title: "none", takes: [], of: () => null },
    row: { title: "col ^ row", takes: [], of: () => ({ down: 0, up: 0 }) },
    up: { title: "col ^ (row << b)", takes: ["b"], of: ({ b }) => ({ down: 0, up: b }) },
    both: { title: "col ^ ((row >> a) << b)", takes: ["a", "b"], of: ({ a, b }) => ({ down: a, up: b }) },
    part: { title: "col ^ (((row >> a) % n) << b)", takes: ["a", "n", "b"], of: ({ a, n, b }) => ({ down: a, up: b, part: n }) },
    cutlass: { title: "Swizzle<B, M, S>", takes: ["B", "M", "S"], of: (numbers) => numbers },
  };

  /// `value >> by` and `value << by` as one writes them.
  const shifted = (value, how, by) => (by === 0 ? value : `(${value} ${how} ${by})`);

  /// By which formulas the offset of an element (row, col) is computed, the last one being the offset, and a remark.
  function formulas({ row, pad, swizzle }) {
    const begin = `row * ${row + pad}`;
    if (swizzle === null) return { formulas: [`${begin} + col`], remark: "" };
    if (!("B" in swizzle)) {
      const down = shifted("row", ">>", swizzle.down), part = swizzle.part ? `(${down} % ${swizzle.part})` : down;
      return { formulas: [`${begin} + (col ^ ${shifted(part, "<<", swizzle.up)})`], remark: "" };
    }
    const { B, M, S } = swizzle;
    const from = (bit) => (B === 1 ? `bit ${bit}` : `bits ${bit} ${B === 2 ? "and" : "to"} ${bit + B - 1}`);
    const flips = shifted(`(${shifted("o", ">>", M + S)} % ${1 << B})`, "<<", M);
    return { formulas: [`o = ${begin} + col`, `o ^ ${flips}`],
             remark: `CUTLASS’s Swizzle<${B}, ${M}, ${S}>: ` +
                     (B === 0 ? "nothing flips." : `${from(M + S)} of o flip${B === 1 ? "s" : ""} ${from(M)}.`) };
  }

  // Lane maps bit by bit: where lane 0 is, and by how much each bit of the lane moves on.
  const bits = [0, 1, 2, 3, 4];
  const plus = (a, b, times = 1) => ({ row: a.row + times * b.row, col: a.col + times * b.col });

  /// The place of each lane by {base, steps}.
  const placesByBits = ({ base, steps }) =>
    Array.from({ length: TileBanks.warp }, (_, lane) =>
      bits.reduce((place, bit) => plus(place, steps[bit], (lane >> bit) & 1), base));

  /// {base, steps} of places, or null if they are no sum over the bits of the lane.
  function bitsOf(places) {
    if (places.includes(null)) return null;
    const map = { base: places[0], steps: bits.map((bit) => plus(places[1 << bit], places[0], -1)) };
    const isSum = placesByBits(map).every((p, lane) => p.row === places[lane].row && p.col === places[lane].col);
    return isSum ? map : null;
  }

  /// Why an access of `elements` elements a lane, of `bytes` each, is impossible, in words, or "" if it is not.
  function obstacle(layout, places, elements, bytes) {
    const { B, S } = layout.swizzle || {};
    if (B > S) return `CUTLASS asks for an S of at least B, here ${B}: otherwise bits that flip others would be flipped themselves.`;
    for (const [lane, place] of places.entries()) {
      if (place === null) continue;
      const cols = Array.from({ length: elements }, (_, i) => place.col + i);
      if (place.row < 0 || place.col < 0 || cols[elements - 1] >= layout.row)
        return `Lane ${lane} leaves the tile: row ${place.row}, column ${cols[elements - 1]} of a row of ${plural(layout.row, "element")}.`;
      const stored = Math.max(...cols.map((col) => TileBanks.swizzledColumn(layout.swizzle, place.row, col)));
      if (stored >= layout.row) return `The swizzle sends lane ${lane} out of its row: to column ${stored} of ${layout.row}.`;
      const offsets = cols.map((col) => TileBanks.offsetOf(layout, { row: place.row, col }));
      if (offsets.some((offset, i) => offset !== offsets[0] + i))
        return `The ${elements} elements of lane ${lane} no longer lie in one piece: the swizzle puts them at offsets ` +
               `${offsets.join(", ")}.`;
      if (offsets[0] % elements !== 0)
        return `Lane ${lane} begins at offset ${offsets[0]}: an access of ${elements * bytes} bytes must begin at a multiple of ` +
               `${elements} elements.`;
    }
    return "";
  }

  /// {0, 1, 2, 3, 16} -> "0–3, 16".
  function ranges(numbers) {
    const runs = [];
    for (const n of numbers) {
      const run = runs.at(-1);
      if (run && run.at(-1) + 1 === n) run.push(n);
      else runs.push([n]);
    }
    return runs.map((run) => (run.length > 2 ? `${run[0]}–${run.at(-1)}` : run.join(", "))).join(", ");
  }
  function laneNames(lanes) {
    if (lanes.length === TileBanks.warp) return "all";
    const everySecond = lanes.length > 3 && lanes.every((lane, i) => i === 0 || lane - lanes[i - 1] === 2);
    return everySecond ? `${lanes[0]}, ${lanes[1]}…${lanes[lanes.length - 1]}` : ranges(lanes);
  }
  const named = (lanes) =>
    lanes.length === TileBanks.warp ? "all lanes" : `lane${lanes.length === 1 ? "" : "s"} ${laneNames(lanes)}`;

  // The drawing -----------------------------------------------------------------------------------------------------
  // As `figures banks` draws it, so that the picture stays in place; conflicts have another colour. In two halves, which stand below
  // each other where there is no room beside: the second has the names of rows again, to be seen only there.
  const left = 68, cell = 16.5, font = 12, gap = 26, top = 36, half = TileBanks.banks / 2;

  /// The boxes of half a wavefront: neighbouring words that the same lanes want share one. {bank, words, lanes, word, crowded}
  function boxesOf(wavefront, crowded, from) {
    const boxes = [];
    for (let bank = from; bank < from + half; ++bank) {
      const wanted = wavefront[bank], before = boxes.at(-1);
      if (wanted === null) continue;
      if (before && before.bank + before.words === bank && before.word + before.words === wanted.word &&
          before.lanes.join() === wanted.lanes.join() && before.crowded === crowded[bank])
        ++before.words;
      else boxes.push({ bank, words: 1, word: wanted.word, lanes: wanted.lanes, crowded: crowded[bank] });
    }
    return boxes;
  }

  function drawnWavefront(wavefront, crowded, from, y, height) {
    let out = "";
    for (let bank = from; bank < from + half; ++bank) out += rect(left + bank * cell, y, cell, height, "none", "var(--rule)");
    const boxes = boxesOf(wavefront, crowded, from), baseline = y + height / 2 + font * 0.34;
    for (const [i, box] of boxes.entries()) {
      const x = left + box.bank * cell, width = box.words * cell, end = x + width;
      const words = box.words === 1 ? `word ${box.word}` : `words ${box.word} to ${box.word + box.words - 1}`;
      out += rect(x + 0.5, y + 0.5, width - 1, height - 1, box.crowded ? "var(--second)" : "var(--accent)", "none",
                  `${words}: ${named(box.lanes)}`);
      const names = laneNames(box.lanes), room = (boxes[i + 1] ? boxes[i + 1].bank : from + half) * cell + left - end;
      const needed = names.length * font * 0.5;
      if (needed < width + 2) out += text(x + width / 2, baseline, names, "middle", "var(--paper)");
      else if (needed < room)  // over free banks, whose frames must not go through it
        out += rect(end + 1, y + 1, Math.min(1.15 * needed + 4, room - 1), height - 2, "var(--paper)", "none") + text(end + 3, baseline, names, "start", "var(--muted)");
      else out += text(x + width / 2, baseline, `${box.lanes[0]}…`, "middle", "var(--paper)");
    }
    return out;
  }

  /// The banks that give a group of lanes two different words or more.
  const crowdedBanks = (group) =>
    Array.from({ length: TileBanks.banks }, (_, bank) => group.wavefronts.length > 1 && group.wavefronts[1][bank] !== null);

  /// The rows of the banks from `from` on, whose first has its cell at left + from * cell, and where they end.
  function drawnHalf(groups, from) {
    const height = wavefrontsOf(groups).length > 8 ? 14 : 18, begin = left + from * cell, kind = from > 0 ? "row-again" : "";
    let out = text(begin - 8, top - 8, "bank", "end", "var(--muted)", kind), y = top, row = 0;
    for (let bank = from; bank < from + half; ++bank)
      out += text(left + (bank + 0.5) * cell, top - 8, bank, "middle", "var(--muted)");
    for (const [i, group] of groups.entries()) {
      if (i > 0) y += gap;
      if (groups.length > 1)
        out += text(begin, i === 0 ? 13 : y - 7, `lanes ${group.first} to ${group.first + group.lanes - 1}`, "start", "var(--ink)", kind);
      const crowded = crowdedBanks(group);
      for (const wavefront of group.wavefronts) {
        out += text(begin - 8, y + height / 2 + font * 0.34, `wavefront ${++row}`, "end", "var(--ink)", kind) +
               drawnWavefront(wavefront, crowded, from, y, height);
        y += height;
      }
    }
    return { out, bottom: y };
  }

  function drawn(groups) {
    const svg = (x, y, width, height, out, kind, overlap = 0) =>
      `<svg viewBox="${x} ${y} ${width} ${height}" class="${kind}" ` +
      `style="--natural: ${width}px; --legible: ${width}px; --overlap: ${overlap}px">${out}</svg>`;
    const [first, second] = [0, half].map((from) => drawnHalf(groups, from)), height = first.bottom + 8;
    const idle = wavefrontsOf(groups).every((wavefront) => wavefront.slice(half).every((wanted) => wanted === null));
    const crowded = groups.some((group) => crowdedBanks(group).includes(true)), width = left + half * cell, line = height + 11;
    let out = `<div class="panels" role="img" aria-label="Which lanes' words come out of which bank in each wavefront; the text above ` +
      `says where they conflict.">${svg(0, 0, width + 0.5, height, first.out, "")}` +
      svg(half * cell, 0, width + 4, height, second.out, idle ? "continued wide-only" : "continued", left + 0.5);
    const none = `none in banks ${half} to ${TileBanks.banks - 1}`;
    if (idle) out += svg(0, height, width, 20, text(width, line, none, "end", "var(--muted)"), "row-again");
    if (crowded)
      out += `<i class="row-end"></i>` + svg(0, height, width, 20, rect(0, height + 2, 10, 10, "var(--second)", "none") +
        text(15, line, "in a bank that must deliver more than one word", "start", "var(--muted)"), "");
    return out + "</div>";
  }

  // The account in words ----------------------------------------------------------------------------------------------
  /// How many lanes are served together, and why.
  function serving(access, groups) {
    if (groups.length === 1 && access.wordsPerLane === 1) return "All 32 lanes are served together.";
    const distance = TileBanks.mergingDistance(access);
    return `${groups[0].lanes} lanes are served together` +
           (distance ? `, because lanes want the same in pairs, ${distance} apart.` : ".");
  }

  /// The most crowded bank: which lanes want which of its words, and which other banks are as crowded.
  function conflict(groups) {
    const depth = Math.max(...groups.map((group) => group.wavefronts.length));
    const group = groups.find((g) => g.wavefronts.length === depth), last = group.wavefronts[depth - 1];
    const worst = [...last.keys()].filter((bank) => last[bank] !== null);
    const words = group.wavefronts.map((wavefront) => wavefront[worst[0]]), others = depth > 4 ? `; and ${depth - 4} more` : "";
    const shown = words.slice(0, 4).map(({ word, lanes }) => `word ${word} by ${named(lanes)}`).join("; ");
    const among = groups.length > 1 ? `Of lanes ${group.first} to ${group.first + group.lanes - 1}, bank` : "Bank";
    const rest = worst.length > 2 ? ` Banks ${ranges(worst.slice(1))} are as crowded.`
      : worst.length > 1 ? ` Bank ${worst[1]} is as crowded.` : "";
    return `${among} ${worst[0]} is asked for ${depth} words: ${shown}${others}.${rest}`;
  }

  /// Which lanes take no part, and how far the rule was measured with lanes left out.
  function absent(access) {
    const lanes = [...access.words.keys()].filter((lane) => access.words[lane] === null);
    if (lanes.length === 0) return "";
    return ` Not taking part: ${named(lanes)}. Few loads with lanes left out were measured, and no stores.`;
  }

  const wavefrontsOf = (groups) => groups.flatMap((group) => group.wavefronts);

  /// What an access costs, and why.
  function account(access, groups) {
    const fewest = groups.filter((group) => group.wavefronts.length > 0).length;
    return (wavefrontsOf(groups).length > fewest
      ? `It would be ${fewest} without conflicts. ${serving(access, groups)} ${conflict(groups)}`
      : `No conflict. ${serving(access, groups)}`) + absent(access);
  }

  // The figure --------------------------------------------------------------------------------------------------------
  const select = (options) =>
    element("select", {}, ...options.map(([value, title = value]) => element("option", { value }, title)));

  function start(figure) {
    const traces = tracesOf(figure);

    const swizzleTitles = Object.entries(swizzles).map(([name, { title }]) => [name, title]);
    const described = {  // name -> what it is called, the control
      map: ["lane map", select([...traces.map((trace, i) => [`trace-${i}`, trace.title]),
        ...Object.entries(plainMaps).map(([name, map]) => [name, map.title]), ["own", "your own, bit by bit"]])],
      op: ["access", select([["load"], ["store"]])],
      bytes: ["element", select([[2, "2 bytes"], [4, "4 bytes"], [8, "8 bytes"]])],
      elements: ["elements a lane", select([[1], [2], [4], [8]])],
      row: ["row length, elements", number(1, 1024)],
      pad: ["padding, elements", number(0, 64)],
      swizzle: ["swizzle", select(swizzleTitles)],
      a: ["shift a", number(0, 5)],
      n: ["n", select([[2], [4], [8], [16], [32]])],
      b: ["shift b", number(0, 8)],
      B: ["B: how many bits flip", number(0, 5)],
      M: ["M: the lowest flipped", number(0, 10)],
      S: ["S: how far above it", number(1, 10)],
    };
    const controls = Object.fromEntries(Object.entries(described).map(([name, [, control]]) => [name, control]));
    controls.elements.setAttribute("aria-describedby", `${figure.id}-measured`);
    const measured = element("p", { id: `${figure.id}-measured` }, "A lane takes 4, 8 or 16 bytes here.");
    const steps = { row: [], col: [] };  // of lane 0, then of each bit
    for (const [axis, title] of [["row", "row"], ["col", "column"]])
      for (const of of ["lane 0", ...bits.map((bit) => `lane bit ${bit}`)]) {
        const input = number(of === "lane 0" ? 0 : -1024, 1024);
        input.setAttribute("aria-label", `${title}, ${of}`);
        steps[axis].push(input);
      }
    const formula = element("p", { class: "formula" });

    // Reading the controls ----------------------------------------------------------------------------------------------
    const value = (control) => Number(control.value), laneBytes = () => value(controls.bytes) * value(controls.elements);
    const chosenTrace = () => traces[Number((controls.map.value.match(/^trace-(\d+)$/) || [])[1])];

    function layout() {
      const { takes, of } = swizzles[controls.swizzle.value];
      const swizzle = of(Object.fromEntries(takes.map((name) => [name, value(controls[name])])));
      return { row: value(controls.row), pad: value(controls.pad), swizzle };
    }

    /// Where each lane begins, null for one that takes no part.
    function places() {
      const trace = chosenTrace();
      if (trace) return trace.words.map((word) => (word === null ? null : TileBanks.placeOf(trace, word)));
      if (controls.map.value === "own") {
        const at = (i) => ({ row: value(steps.row[i]), col: value(steps.col[i]) });
        return placesByBits({ base: at(0), steps: bits.map((bit) => at(bit + 1)) });
      }
      const { place } = plainMaps[controls.map.value];
      return Array.from({ length: TileBanks.warp }, (_, lane) => place(lane, value(controls.elements), value(controls.row)));
    }

    // Writing them ------------------------------------------------------------------------------------------------------
    function showBits(lanes) {
      const map = bitsOf(lanes);
      for (const axis of ["row", "col"])
        for (const [i, input] of steps[axis].entries()) {
          input.disabled = map === null;
          if (map !== null) input.value = (i === 0 ? map.base : map.steps[i - 1])[axis];
        }
    }

    /// All controls as the chosen trace has them, which counts words.
    function asTraced() {
      const trace = chosenTrace(), word = 4;
      const { down, up } = trace.swizzle || { down: 0, up: 0 };
      const values = { bytes: word, elements: trace.bytes / word, op: trace.op, row: trace.row, pad: trace.pad,
        swizzle: trace.swizzle ? "both" : "none", a: down, b: up, n: 8, B: 3, M: 3, S: 3 };
      for (const [name, value] of Object.entries(values)) controls[name].value = value;
    }

    let shownLaneBytes = 0;

    /// Shows the numbers that the swizzle takes, and how many elements a lane may take.
    function showChoices() {
      for (const name of new Set(Object.values(swizzles).flatMap(({ takes }) => takes)))
        controls[name].closest("label").hidden = !swizzles[controls.swizzle.value].takes.includes(name);
      for (const choice of controls.elements.options) {
        const bytes = choice.value * controls.bytes.value;
        choice.textContent = `${choice.value} (${bytes} bytes)`;
        choice.disabled = bytes < 4 || bytes > 16;
      }
      shownLaneBytes = laneBytes();
    }

    function showFormula() {
      const { formulas: codes, remark } = formulas(layout());
      const [offset, ...before] = codes.map((code) => element("code", {}, code)).reverse();
      formula.replaceChildren("Element (row, col) has the offset ", offset, ...before.flatMap((code) => [" with ", code]),
                              `, in elements of ${controls.bytes.value} bytes. `, remark);
    }

    function show() {
      showChoices();
      formula.replaceChildren();
      const read = [...Object.values(controls), ...(controls.map.value === "own" ? [...steps.row, ...steps.col] : [])];
      const wrong = read.find((control) => !control.checkValidity() && !control.closest("[hidden]"));
      if (wrong) {
        const name = wrong.getAttribute("aria-label") || wrong.closest("label").textContent;
        return say("Which number?", `${name}: a whole number from ${wrong.min} to ${wrong.max}.`);
      }
      showFormula();
      const lanes = places(), tile = layout();
      if (controls.map.value !== "own") showBits(lanes);
      const why = obstacle(tile, lanes, value(controls.elements), value(controls.bytes));
      if (why) return say("Not possible.", why, "");
      const wordAt = (place) => (TileBanks.offsetOf(tile, place) * value(controls.bytes)) / 4;
      const access = { words: lanes.map((place) => (place === null ? null : wordAt(place))), wordsPerLane: laneBytes() / 4,
                       load: controls.op.value === "load" };
      const groups = TileBanks.groupsOf(access);
      say(`${plural(wavefrontsOf(groups).length, "wavefront")}.`, account(access, groups), drawn(groups));
    }

    // Putting it together -----------------------------------------------------------------------------------------------
    const heading = (words) => element("th", { scope: "col" }, words);
    const stepRow = (title, i) =>
      element("tr", {}, element("th", { scope: "row" }, title), ...["row", "col"].map((axis) => element("td", {}, steps[axis][i])));
    const byBits = element("details", {}, element("summary", {}, "Lane map, bit by bit"),
      element("p", {}, "Where lane 0 begins, and by how much each bit that is set in a lane’s number moves it on."),
      element("div", { class: "scroll" }, element("table", {},
        element("thead", {}, element("tr", {}, ...["", "row", "column"].map(heading))),
        element("tbody", {}, stepRow("lane 0", 0), ...bits.map((bit) => stepRow(`bit ${bit}`, bit + 1))))));
    const again = element("button", { type: "button", click: () => {
      if (!chosenTrace()) controls.map.value = "trace-0";
      asTraced();
      show();
    } }, "As traced");
    const form = element("form", { submit: (event) => event.preventDefault() },
      element("div", { class: "controls" }, ...Object.values(described).map(([title, control]) => labelled(title, control)), again),
      formula, measured, byBits);
    controls.swizzle.closest("label").classList.add("wide");
    controls.map.addEventListener("input", () => (chosenTrace() ? asTraced() : (byBits.open ||= controls.map.value === "own")));
    controls.bytes.addEventListener("input", () => {  // a lane keeps its bytes, or as near to them as it can
      controls.elements.value = Math.max(1, shownLaneBytes / value(controls.bytes));
    });
    for (const input of [...steps.row, ...steps.col]) input.addEventListener("input", () => (controls.map.value = "own"));
    form.addEventListener("input", show);
    // The address has what was chosen last, so that it can be sent to others.
    const all = [...Object.values(controls), ...steps.row, ...steps.col], address = `#${figure.id}&`;
    form.addEventListener("input", () => history.replaceState(null, "", address + all.map((control) => control.value)));

    const say = live(figure, form, "banks");
    asTraced();
    if (location.hash.startsWith(address)) {
      for (const [i, chosen] of location.hash.slice(address.length).split(",").entries()) if (all[i]) all[i].value = chosen;
      if (Object.values(controls).some((control) => control.value === "")) again.click();  // no address of ours
      figure.scrollIntoView();
    }
    show();
  }

  document.querySelectorAll("figure.explorer").forEach(start);
})();
